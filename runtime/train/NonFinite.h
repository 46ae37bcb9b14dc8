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
  /// The arguments outlive the object.
  NonFiniteSearch(const plan::Plan& plan, int rank, device::Device& device)
      : plan(plan), stage(plan::stageOf(plan, rank)), rank(rank),
        device(device) {}

  /// Zeroes what ops of forward and backward write, so that nothing is left of
  /// the run before where an op writes a part of its result alone.
  Status clearResults(const exec::Executor& executor) const;

  /// The first trained or frozen parameter of which this rank keeps something
  /// that is not finite; empty where all is.
  Expected<std::string> badParameter(const exec::Executor& executor) const;

  /// An op of this rank that was the first to make something that is not finite
  /// of what is.
  struct Origin {
    const plan::Op* op = nullptr; // null where there is none
    plan::ScheduleStep step;      // that ran its function
  };
  /// Of the ops that compute alone; and of the collectives, which may have
  /// brought it from a rank where such an op has made it.
  const Origin& computed() const { return ownOrigin; }
  const Origin& collected() const { return commonOrigin; }
  /// How reading the device's buffers went.
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
  bool wasFinite = true; // what the op reads, and what it adds to
  Origin ownOrigin, commonOrigin;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_NONFINITE_H
