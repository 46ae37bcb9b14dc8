// Adds up in double, where nothing overflows.

#include "compiler/passes/CheckSizes.h"

#include <algorithm>
#include <cstdio>

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
