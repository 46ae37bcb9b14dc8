// Recomputation although there is enough memory.
//
// Without recomputation, each micro-batch in flight would also keep the
// recomputed values that gradients read. Their copies in the backward pass,
// whose names begin with `again.`, give the bytes. Values that are now kept
// only as inputs of the recomputation are still counted, so the sum is an upper
// bound.

#include "compiler/advice/Rules.h"
#include "compiler/recipe/Format.h"
#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <set>

namespace recipec::advice {
namespace {

constexpr std::string_view backwardPass = "backward";

bool isRecomputed(const ir::Module& stage, const ir::Op& op) {
  return std::any_of(op.results.begin(), op.results.end(),
                     [&](ir::ValueId result) {
                       return result != ir::ValueId::none &&
                              stage[result].name.starts_with("again.");
                     });
}

/// The recomputed values that other ops of the backward pass read, by chunk.
std::map<int, std::set<ir::ValueId>> recomputedOf(const ir::Module& stage) {
  std::map<int, std::set<ir::ValueId>> values;
  for (const ir::Function& function : stage.functions) {
    if (!function.name.starts_with(backwardPass))
      continue;
    for (const ir::Op& op : function.ops) {
      if (isRecomputed(stage, op))
        continue;
      for (ir::ValueId operand : op.operands)
        if (operand != ir::ValueId::none &&
            stage[operand].name.starts_with("again."))
          values[function.chunk].insert(operand);
    }
  }
  return values;
}

/// By chunk: the most micro-batches at a time whose backward pass has not run
/// yet.
std::map<int, int64_t> mostInFlight(const ir::Module& stage) {
  std::map<std::string, int> chunkOf;
  for (const ir::Function& function : stage.functions)
    chunkOf[function.name] = function.chunk;
  std::map<int, int64_t> flying, most;
  for (const ir::Schedule& schedule : stage.schedules)
    if (schedule.name == "train")
      for (const ir::ScheduleStep& step : schedule.steps) {
        if (step.kind != ir::ScheduleStep::Kind::run)
          continue;
        const int chunk = chunkOf.at(step.function);
        if (step.function.starts_with(backwardPass))
          --flying[chunk];
        else if (step.function.starts_with("forward"))
          most[chunk] = std::max(most[chunk], ++flying[chunk]);
      }
  return most;
}

/// An upper bound of the bytes of the fullest rank without recomputation.
int64_t totalWithout(const Facts& facts) {
  int64_t most = 0;
  for (size_t i = 0; i < facts.stages().size(); ++i) {
    const ir::Module& stage = facts.stages()[i];
    std::map<int, int64_t> flying = mostInFlight(stage);
    int64_t total = facts.estimate().stages[i].total;
    for (const auto& [chunk, values] : recomputedOf(stage))
      for (ir::ValueId value : values)
        total += flying[chunk] * ir::localBytes(stage, value);
    most = std::max(most, total);
  }
  return most;
}

/// The fraction of the computation that is recomputation, by the roofline.
double shareOfRecomputation(const Facts& facts) {
  double again = 0, all = 0;
  for (const ir::Module& stage : facts.stages()) {
    const auto seconds = facts.secondsIn(stage);
    std::map<std::string, int> runs = Facts::runsOf(stage);
    for (const ir::Function& function : stage.functions)
      for (const ir::Op& op : function.ops) {
        if (ops::traitsOf(op.kind).isCollective || runs[function.name] == 0)
          continue;
        const double taken = runs[function.name] * seconds(op);
        all += taken;
        again += isRecomputed(stage, op) ? taken : 0;
      }
  }
  return all > 0 ? again / all : 0;
}

} // namespace

void adviseRecompute(const Facts& facts, diag::Engine& engine) {
  const recipe::Recipe& recipe = facts.recipe();
  if (recipe.string("memory.recompute") == "none")
    return;
  const int64_t total = totalWithout(facts);
  if (total > facts.estimate().memory.capacity)
    return;
  const double share = shareOfRecomputation(facts);
  if (share == 0)
    return;
  auto builder = engine.report(
      diag::Kind::NeedlessRecompute, facts.placeOf({"memory.recompute"}),
      "`recompute` = \"" + recipe.string("memory.recompute") +
          "\" computes again what the memory has room for: without it a rank "
          "takes at most " +
          recipe::formatBytes(total) + " of " +
          recipe::formatBytes(facts.estimate().memory.capacity));
  builder.note("by the estimate " + percent(share) +
               " of the computation is done again; NVIDIA's guide counts about "
               "30 % more computation for whole layers (Megatron Bridge, "
               "performance guide)");
  const bool hasParts = facts.isGiven("memory.recompute_layers") ||
                        facts.isGiven("memory.recompute_modules");
  if (hasParts)
    builder.help("leave out `recompute` and its layers and modules");
  else
    facts.propose(builder, "memory", {{"recompute", "\"none\""}},
                  "keep the activations: ", "");
}

} // namespace recipec::advice
