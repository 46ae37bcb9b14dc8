// Finds the first op of a step whose result is not finite.
//
// A bad step is run once more and gives the same values: the optimizer changes
// nothing when the gradient is not finite, and loads, kernels and reductions
// are deterministic functions of the step.

#ifndef RECIPERUN_TRAIN_NONFINITE_H
#define RECIPERUN_TRAIN_NONFINITE_H

#include "runtime/exec/Executor.h"
#include "runtime/plan/Plan.h"

#include <string>

namespace reciperun::train {

class NonFiniteSearch : public exec::Observer {
public:
  /// The arguments outlive the object.
  NonFiniteSearch(const plan::Plan& plan, int rank, device::Device& device)
      : plan(plan), stage(plan::stageOf(plan, rank)), rank(rank),
        device(device) {}

  /// Zeroes the outputs of the ops of forward and backward. An op that writes
  /// only a part of its output then leaves no values of the first run.
  Status clearResults(const exec::Executor& executor) const;

  /// The first trained or frozen parameter with a non-finite element on this
  /// rank; empty when all are finite.
  Expected<std::string> badParameter(const exec::Executor& executor) const;

  /// The first op of this rank that produced a non-finite value from finite
  /// inputs.
  struct Origin {
    const plan::Op* op = nullptr; // null when there is none
    plan::ScheduleStep step;      // the step that ran its function
  };
  /// `computed` is the first such local op. `collected` is the first such
  /// collective, which may have received the value from the rank that computed
  /// it.
  const Origin& computed() const { return ownOrigin; }
  const Origin& collected() const { return commonOrigin; }
  /// The outcome of reading the device's buffers.
  const Status& status() const { return failure; }
  /// "`layers.0.q` (linear) of `forward`".
  std::string text(const Origin& origin) const;

  void beginsStep(const plan::ScheduleStep& step) override { current = step; }
  void beginsOp(const plan::Op& op, std::span<const exec::Tensor> inputs,
                std::span<const exec::Tensor> outputs) override;
  void endsOp(const plan::Op& op,
              std::span<const exec::Tensor> outputs) override;

private:
  Status clear(const exec::Executor& executor, int number) const;
  bool areFinite(std::span<const exec::Tensor> tensors);

  const plan::Plan& plan;
  const plan::Stage& stage;
  int rank;
  device::Device& device;
  Status failure;
  plan::ScheduleStep current;
  bool wasFinite = true; // the inputs of the op, and its outputs before it ran
  Origin ownOrigin, commonOrigin;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_NONFINITE_H
