// Which op of a step was the first whose result is not finite.
//
// A step that has gone wrong is run once more, which gives the same numbers:
// the optimizer changes nothing where the gradient is not finite, and loads,
// kernels and sums are functions of the step.

#ifndef RECIPERUN_TRAIN_NONFINITE_H
#define RECIPERUN_TRAIN_NONFINITE_H

#include "runtime/exec/Executor.h"
#include "runtime/plan/Plan.h"

#include <string>

namespace reciperun::train {

class NonFiniteSearch : public exec::Observer {
public:
  /// The plan outlives the object.
  explicit NonFiniteSearch(const plan::Plan& plan) : plan(plan) {}

  /// Zeroes what ops of forward and backward write, so that nothing is left of
  /// the run before where an op writes a part of its result alone.
  void clearResults(const exec::Executor& executor) const;

  /// The first trained or frozen parameter of this rank that is not finite;
  /// empty where all are.
  std::string badParameter(const exec::Executor& executor) const;

  /// Whether an op of this rank has made something that is not finite of
  /// operands that are.
  bool hasFound() const { return found != nullptr; }
  /// That op: "`layers.0.q` (linear) of `forward`".
  std::string opText() const;
  int microBatch() const { return where.microBatch; }

  void beginsStep(const plan::Step& step) override { current = step; }
  void beginsOp(const plan::Op& op,
                std::span<const exec::Tensor> inputs) override;
  void endsOp(const plan::Op& op,
              std::span<const exec::Tensor> outputs) override;

private:
  const plan::Plan& plan;
  plan::Step current;
  bool hadFiniteInputs = true;
  const plan::Op* found = nullptr;
  plan::Step where;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_NONFINITE_H
