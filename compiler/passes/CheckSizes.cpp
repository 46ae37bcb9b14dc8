// Adds up in double, where nothing overflows.

#include "compiler/passes/CheckSizes.h"

#include "compiler/passes/Stages.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace recipec::passes {
namespace {

double wholeBytes(const ir::Module& graph, const ir::Value& value) {
  double bytes = double(ir::byteSize(value.type));
  for (ir::DimId dim : value.dims)
    bytes *= double(graph[dim].size);
  return bytes;
}

std::string approximately(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", number);
  return text;
}

/// Chunks are of as many layers as the model's `layers` says; what its
/// `forward` runs are the turns of the outermost `for`.
void checkLayers(const recipe::Recipe& recipe, diag::Engine& engine) {
  std::vector<int64_t> chunks = layersOfChunks(recipe);
  int64_t listed = std::accumulate(chunks.begin(), chunks.end(), int64_t(0));
  int64_t run = 0;
  for (const recipe::Call& call : recipe.model.calls)
    run = std::max<int64_t>(run, call.layer + 1);
  if (listed == run)
    return;
  engine
      .report(diag::Kind::InvalidValue, recipe.at("model").origin.range,
              "`pp` * `vp` = " + std::to_string(chunks.size()) +
                  " chunks share out " + std::to_string(listed) +
                  " layers, and `forward` of the model runs " +
                  std::to_string(run))
      .help("let a field `layers` of the model say how many turns the "
            "outermost `for` of `forward` makes");
}

} // namespace

void checkCounts(const recipe::Recipe& recipe, diag::Engine& engine) {
  constexpr size_t mostCalls = 25'000;
  size_t calls = recipe.model.calls.size();
  if (calls > mostCalls)
    engine
        .report(diag::Kind::InvalidValue, recipe.at("model").origin.range,
                "a model has at most " + std::to_string(mostCalls) +
                    " ops, and this one has " + std::to_string(calls))
        .help("look for a number of layers, or the range of a `for`, that is "
              "larger than it needs to be");
  checkLayers(recipe, engine);
  constexpr int64_t most = 1'000'000;
  int64_t ranks = recipe.integer("cluster.ranks");
  if (ranks > most)
    engine.report(diag::Kind::InvalidValue,
                  recipe.at("cluster.ranks").origin.range,
                  "a plan has at most " + std::to_string(most) +
                      " ranks, not " + std::to_string(ranks));
  int64_t steps = recipe.integer("batch.accumulation");
  if (steps > most)
    engine
        .report(diag::Kind::InvalidValue,
                recipe.at("batch.global").origin.range,
                "a step has at most " + std::to_string(most) +
                    " micro-batches on a rank, and `batch.accumulation` is " +
                    std::to_string(steps))
        .help("lower `batch.global`, or raise `batch.micro`");
}

void checkSizes(const ir::Module& graph, diag::Engine& engine) {
  constexpr double most = 0x1p56;
  double total = 0, largestBytes = 0;
  const ir::Value* largest = nullptr;
  for (const ir::Value& value : graph.values) {
    double bytes = wholeBytes(graph, value);
    total += bytes;
    if (bytes > largestBytes) {
      largestBytes = bytes;
      largest = &value;
    }
  }
  if (total < most)
    return;
  ir::DimId dim =
      *std::max_element(largest->dims.begin(), largest->dims.end(),
                        [&](ir::DimId left, ir::DimId right) {
                          return graph[left].size < graph[right].size;
                        });
  engine.report(diag::Kind::OutOfMemory, graph[dim].range,
                "no plan can address these sizes: `" + largest->name +
                    "` alone has " + approximately(largestBytes) +
                    " bytes, with `" + graph[dim].name +
                    "` = " + std::to_string(graph[dim].size));
}

} // namespace recipec::passes
