// The Program's widest step gives the FLOPs of each op per token and the bytes
// that it reads. Both are scaled to the load of a step:
//
// 1. before the op that takes the wanted rows, an op computes each token; after
//    it, each wanted row;
// 2. attention reads the keys and values of each sequence once, and multiplies
//    each token with those in its window or chunk;
// 3. other ops read their parameters once, however many tokens there are.
//
// A sequence passes through the stages of a pipeline one after another. If
// there are several sequences, each stage works on a part of them at the same
// time, and the slowest stage determines the time.

#include "compiler/cost/ServingBounds.h"

#include "compiler/cost/Device.h"
#include "compiler/cost/Flops.h"
#include "runtime/ops/AttentionOps.h"
#include "runtime/ops/OpKind.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace recipec::cost {
namespace {

using ir::OpKind;
using ir::ValueId;

/// The average number of keys that a token attends to, when its sequence has
/// `context` tokens: those of its window, and half of those of its chunk.
double visibleKeys(const ops::AttentionAttributes& attributes, double context) {
  double keys = context;
  if (attributes.window > 0)
    keys = std::min(keys, double(attributes.window));
  if (attributes.chunk > 0)
    keys = std::min(keys, double(attributes.chunk + 1) / 2);
  return keys;
}

/// The load of a step.
struct StepLoad {
  double tokens = 1;
  double rows = 1;      // tokens whose logits are wanted
  double sequences = 1; // that the tokens belong to
  double context = 0;   // average tokens of a sequence in the cache
};

/// The time of steps of one stage.
class StepModel {
public:
  StepModel(const ir::Module& program, const recipe::Recipe& recipe)
      : program(program), device(deviceOf(program, recipe)),
        tokens(double(recipe.integer("serve.token_budget"))),
        slots(double(recipe.integer("serve.max_batch"))),
        step(ir::findFunction(program,
                              "step_" + std::to_string(int64_t(tokens)))) {
    assert(step && "a served Program has a step of `token_budget` tokens");
  }

  StepBound bound(const StepLoad& load) const {
    StepBound sum;
    bool isBehindRows = false;
    for (const ir::Op& op : step->ops) {
      const double share = isBehindRows ? load.rows / std::min(tokens, slots)
                                        : load.tokens / tokens;
      const double compute = flopsOf(op, load, share) / device.flopsFor(op);
      const double memory = bytesOf(op, load) / device.bandwidth;
      sum.computeSeconds += compute;
      sum.memorySeconds += memory;
      sum.seconds += std::max(compute, memory);
      isBehindRows |= op.kind == OpKind::TakeRows;
    }
    return sum;
  }

private:
  double flopsOf(const ir::Op& op, const StepLoad& load, double share) const {
    const double whole = localFlops(program, op);
    if (op.kind != OpKind::AttentionPaged)
      return whole * share;
    // localFlops counts the longest sequence.
    const ops::AttentionAttributes attributes(op.attributes);
    const double longest = double(ir::localShape(program, op.operands[5])[1] *
                                  ir::localShape(program, op.results[1])[1]);
    double counted = longest;
    for (int64_t limit : {attributes.window, attributes.chunk})
      if (limit > 0)
        counted = std::min(counted, double(limit));
    return whole * share * visibleKeys(attributes, load.context) / counted;
  }

  double bytesOf(const ir::Op& op, const StepLoad& load) const {
    switch (op.kind) {
    case OpKind::Embedding:
      return load.tokens * rowBytes(op.operands[1]);
    case OpKind::ExpertLinear:
      return usedExperts(op, load.tokens) * rowBytes(op.operands[1]);
    case OpKind::AdapterLinear: // at best all tokens have the same adapter
      return rowBytes(op.operands[1]);
    case OpKind::AttentionPaged:
      return keyBytes(op, load);
    case OpKind::CausalConvStep:
    case OpKind::StateScanStep: // read and written
      return parameterBytes(op) + 2 * load.sequences * rowBytes(op.results[1]);
    default:
      return parameterBytes(op);
    }
  }

  double bytesOfValue(ValueId value) const {
    return double(ir::localBytes(program, value));
  }
  /// The bytes of one entry along the first dimension.
  double rowBytes(ValueId value) const {
    return bytesOfValue(value) / double(ir::localShape(program, value)[0]);
  }

  double parameterBytes(const ir::Op& op) const {
    double bytes = 0;
    for (ValueId operand : op.operands)
      if (operand != ValueId::none &&
          program[operand].kind == ir::ValueKind::parameter)
        bytes += bytesOfValue(operand);
    return bytes;
  }

  /// The bytes of keys and values: those that the tokens attend to are read,
  /// and those of the new tokens are written.
  double keyBytes(const ir::Op& op, const StepLoad& load) const {
    const ops::AttentionAttributes attributes(op.attributes);
    const double page = double(ir::localShape(program, op.results[1])[1]);
    double ofToken = 0;
    for (size_t i = 1; i < op.results.size(); ++i)
      if (op.results[i] != ValueId::none)
        ofToken += rowBytes(op.results[i]) / page;
    return ofToken * (load.tokens +
                      load.sequences * visibleKeys(attributes, load.context));
  }

  /// The average number of experts that at least one of `count` tokens chooses.
  /// x [groups, places, ...] has a row for each choice of each token.
  double usedExperts(const ir::Op& op, double count) const {
    const double experts = double(ir::localShape(program, op.operands[1])[0]);
    const double choices =
        double(ir::localShape(program, op.operands[0])[1]) / tokens;
    return experts *
           (1 - std::pow(1 - std::min(1.0, choices / experts), count));
  }

  const ir::Module& program;
  Device device;
  double tokens; // of the widest step
  double slots;
  const ir::Function* step;
};

StepBound& operator+=(StepBound& sum, const StepBound& other) {
  sum.seconds += other.seconds;
  sum.computeSeconds += other.computeSeconds;
  sum.memorySeconds += other.memorySeconds;
  return sum;
}

class Pipeline {
public:
  Pipeline(const std::vector<ir::Module>& all, const recipe::Recipe& recipe) {
    for (const ir::Module& stage : all)
      stages.emplace_back(stage, recipe);
  }

  /// The bound of a step that passes through all stages one after another.
  StepBound whole(const StepLoad& load) const {
    StepBound sum;
    for (const StepModel& stage : stages)
      sum += stage.bound(load);
    return sum;
  }

  /// The bound of one token for each of `sequences` sequences, where all stages
  /// work at the same time on different sequences.
  StepBound ofAll(double sequences, double context) const {
    const double steps = std::min(double(stages.size()), sequences);
    const double each = sequences / steps;
    StepBound slowest;
    for (const StepModel& stage : stages) {
      const StepBound bound = stage.bound({each, each, each, context});
      if (bound.seconds > slowest.seconds)
        slowest = bound;
    }
    // A sequence gets its next token after it has passed through all stages.
    const double rounds = double(stages.size());
    return {slowest.seconds * rounds, slowest.computeSeconds * rounds,
            slowest.memorySeconds * rounds};
  }

private:
  std::vector<StepModel> stages;
};

} // namespace

ServingBounds servingBounds(const std::vector<ir::Module>& stages,
                            const recipe::Recipe& recipe, int64_t pages) {
  const Pipeline pipeline(stages, recipe);
  const int64_t budget = recipe.integer("serve.token_budget");
  const int64_t page = recipe.integer("serve.page");
  ServingBounds bounds;
  bounds.prompt = recipe.integer("serve.max_input");
  for (int64_t done = 0; done < bounds.prompt; done += budget) {
    const double tokens = double(std::min(budget, bounds.prompt - done));
    bounds.prefill += pipeline.whole({.tokens = tokens,
                                      .rows = 1,
                                      .sequences = 1,
                                      .context = double(done) + tokens / 2});
  }
  bounds.context = std::max<int64_t>(1, recipe.integer("data.sequence") / 2);
  bounds.single = pipeline.whole({.context = double(bounds.context)});
  bounds.sequences = recipe.integer("serve.max_batch");
  if (pages > 0)
    bounds.sequences = std::clamp<int64_t>(
        pages / ((bounds.context + page - 1) / page), 1, bounds.sequences);
  bounds.full =
      pipeline.ofAll(double(bounds.sequences), double(bounds.context));
  return bounds;
}

} // namespace recipec::cost
