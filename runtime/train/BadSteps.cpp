// The search for the cause of a bad step.
//
// 1. Loss and gradient norm are the same on all ranks, so that all of them
//    detect a non-finite value at once. The optimizer has changed nothing.
// 2. Find the cause: a parameter that is not finite; or, after running the step
//    once more, the first op that produces non-finite values from finite ones;
//    or the first parameter whose gradient is not finite. The lowest rank that
//    knows a cause reports it.
// 3. No checkpoint contains the step; the message names the last good one.

#include "runtime/train/BadSteps.h"

#include "runtime/train/GradientNorms.h"

#include <cmath>
#include <cstdio>

namespace reciperun::train {
namespace {

std::string numberText(double number) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.6g", number);
  return digits;
}

} // namespace

Expected<std::string> BadSteps::nonFinite(const StepRecord& record) {
  const bool isLoss = !std::isfinite(record.loss);
  std::string complaint =
      (isLoss ? "the loss is " + numberText(record.loss)
              : "the gradient's norm is " + numberText(record.gradNorm)) +
      " at step " + std::to_string(record.step) + " (learning rate " +
      numberText(record.learningRate) + ")";
  Expected<std::string> cause = causeOf(record.step - 1);
  RECIPERUN_TRY(cause);
  return complaint + (cause->empty() ? "" : ": " + *cause);
}

/// The cause that the lowest rank reports; empty when no rank finds one.
/// Collective.
Expected<std::string> BadSteps::causeOf(int64_t step) {
  NonFiniteSearch search(plan, communicator.rank(), device);
  Status mine;
  Expected<std::string> name = search.badParameter(executor);
  RECIPERUN_TRY(name);
  if (!name->empty())
    mine = Status::error("the parameter `" + *name +
                         "` was not finite before the step");
  if (Status known = communicator.agree(mine); !known.isOk())
    return known.message();
  RECIPERUN_TRY(search.clearResults(executor));
  executor.setObserver(&search);
  Status ran =
      executor.run(*executor.findSchedule("train"), [&](int microBatch) {
        return buffers.load(rows, step, microBatch);
      });
  executor.setObserver(nullptr);
  RECIPERUN_TRY(ran);
  RECIPERUN_TRY(search.status());
  for (const auto* origin : {&search.computed(), &search.collected()}) {
    if (origin->op)
      mine = Status::error(originText(search, *origin, step));
    if (Status known = communicator.agree(mine); !known.isOk())
      return known.message();
  }
  return badGradient();
}

std::string BadSteps::originText(const NonFiniteSearch& search,
                                 const NonFiniteSearch::Origin& origin,
                                 int64_t step) const {
  int microBatch = origin.step.microBatch;
  const std::string found = rows.origin(step, microBatch);
  return search.text(origin) +
         " was the first to make such values of finite ones, in micro-batch " +
         std::to_string(microBatch) + (found.empty() ? "" : " (" + found + ")");
}

/// Names the first parameter whose gradient is not finite; empty when there is
/// none. Collective.
Expected<std::string> BadSteps::badGradient() {
  GradientNorms all(plan, communicator.rank(), "parameters");
  auto measured = all.measure(executor, communicator);
  RECIPERUN_TRY(measured);
  for (const auto& [name, norm] : *measured)
    if (!std::isfinite(norm))
      return "the gradient of `" + name + "` is not finite";
  return std::string();
}

std::string BadSteps::nonFiniteValidation(const StepRecord& record) {
  return "the validation loss is " + numberText(*record.validLoss) +
         " behind step " + std::to_string(record.step) + " (learning rate " +
         numberText(record.learningRate) + ")";
}

std::string BadSteps::spike(const StepRecord& record, double usual) const {
  const std::string origin = rows.origin(record.step - 1);
  return "the loss " + numberText(record.loss) + " at step " +
         std::to_string(record.step) + " is " +
         numberText(record.loss / usual) + " times " + numberText(usual) +
         ", the median of the " + std::to_string(plan.train.spikeWindow) +
         " steps before (`train.spike` = " + numberText(plan.train.spike) +
         ")" + (origin.empty() ? "" : "; its rows are " + origin);
}

} // namespace reciperun::train
