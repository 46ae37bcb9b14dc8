// Computes in double, which does not overflow.

#include "compiler/passes/check/CheckSizes.h"

#include "compiler/recipe/Format.h"

#include <algorithm>
#include <cstdio>
#include <limits>

namespace recipec::passes {
namespace {

double wholeBytes(const ir::Module& graph, const ir::Value& value) {
  double bytes = double(ir::byteSize(value.type));
  for (ir::DimId dim : value.dims)
    bytes *= double(graph[dim].size);
  return bytes;
}

std::string approximately(double number, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", digits, number);
  return text;
}

/// A number of steps, checkpoints or epochs of a run; 0 when not given.
double countOf(const recipe::Value* value) {
  if (!value)
    return 0;
  if (const auto* whole = std::get_if<int64_t>(&value->data))
    return double(*whole);
  if (const auto* quantity = std::get_if<recipe::Quantity>(&value->data))
    return quantity->unit == recipe::Unit::steps ||
                   quantity->unit == recipe::Unit::epochs
               ? quantity->amount
               : 0;
  const auto* real = std::get_if<double>(&value->data);
  return real ? *real : 0;
}

/// The step number is an i32 on the device, so every count of steps must fit.
bool checkRun(const recipe::Recipe& recipe, diag::Engine& engine) {
  constexpr double most = std::numeric_limits<int32_t>::max();
  constexpr const char* paths[] = {
      "train.steps",      "train.epochs",        "train.validate_every",
      "train.log_every",  "train.spike_window",  "train.straggler_window",
      "checkpoint.every", "checkpoint.keep_top", "checkpoint.keep_last"};
  bool fits = true;
  auto check = [&](double count, const recipe::Value& value,
                   const std::string& what) {
    if (count <= most)
      return;
    fits = false;
    engine
        .report(diag::Kind::InvalidValue, value.origin.range,
                what + " is more than " + approximately(most, 10) +
                    ", the most that a run counts")
        .help("write a smaller number, as many as the run is to reach");
  };
  for (const char* path : paths)
    if (const recipe::Value* value = recipe.find(path))
      check(countOf(value), *value,
            "`" + std::string(path) + "` = " + recipe::formatValue(*value, {}));
  const recipe::Value& rate = recipe.at("optimizer.lr");
  if (const auto* schedule = std::get_if<recipe::Record>(&rate.data))
    for (const char* length : {"warmup", "decay"})
      if (const recipe::Value* value = schedule->find(length))
        check(countOf(value), *value,
              "`" + std::string(length) +
                  "` = " + recipe::formatValue(*value, {}));
  const recipe::Value& tokens = recipe.at("train.tokens");
  double steps = countOf(recipe.find("train.total_steps"));
  if (!tokens.isNone())
    check(steps, tokens,
          "`train.tokens` = " + recipe::formatValue(tokens, {}) + " are " +
              approximately(steps, 10) + " steps, which");
  return fits;
}

/// The sequences of a run are counted in 64 bits.
void checkSequences(const recipe::Recipe& recipe, diag::Engine& engine) {
  double steps = countOf(recipe.find("train.total_steps"));
  double sequences = steps * double(recipe.integer("batch.global"));
  if (sequences < 0x1p62)
    return;
  engine
      .report(diag::Kind::InvalidValue, recipe.at("batch.global").origin.range,
              "a run has less than 2^62 sequences, and " +
                  approximately(steps, 10) + " steps of `batch.global` are " +
                  approximately(sequences, 2))
      .help("lower `batch.global`, or shorten the run");
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
  if (checkRun(recipe, engine))
    checkSequences(recipe, engine);
  constexpr int64_t mostRanks = 1'000'000;
  int64_t ranks = recipe.integer("cluster.ranks");
  if (ranks > mostRanks)
    engine
        .report(diag::Kind::InvalidValue,
                recipe.at("cluster.ranks").origin.range,
                "a plan has at most " + std::to_string(mostRanks) +
                    " ranks, not " + std::to_string(ranks))
        .help("give `cluster.ranks` the number of devices");
  constexpr int64_t mostSteps = 100'000; // a plan lists them
  int64_t steps = recipe.integer("batch.accumulation");
  if (steps > mostSteps)
    engine
        .report(diag::Kind::InvalidValue,
                recipe.at("batch.global").origin.range,
                "a step has at most " + std::to_string(mostSteps) +
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
  engine
      .report(diag::Kind::OutOfMemory, graph[dim].range,
              "no plan can address these sizes: `" + largest->name +
                  "` alone has " + approximately(largestBytes, 2) +
                  " bytes, with `" + graph[dim].name +
                  "` = " + std::to_string(graph[dim].size))
      .help("lower `" + graph[dim].name + "`");
}

} // namespace recipec::passes
