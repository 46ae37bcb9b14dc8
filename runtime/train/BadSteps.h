// Explains steps after which a run cannot continue: a loss or gradient that is
// not finite, or a loss spike.

#ifndef RECIPERUN_TRAIN_BADSTEPS_H
#define RECIPERUN_TRAIN_BADSTEPS_H

#include "runtime/comm/Communicator.h"
#include "runtime/data/Loader.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Executor.h"
#include "runtime/plan/Plan.h"
#include "runtime/train/NonFinite.h"
#include "runtime/train/Report.h"
#include "runtime/train/StepBuffers.h"

#include <string>

namespace reciperun::train {

class BadSteps {
public:
  /// The arguments outlive the object. `rows` are the training data.
  BadSteps(const plan::Plan& plan, device::Device& device,
           comm::Communicator& communicator, exec::Executor& executor,
           StepBuffers& buffers, const data::Loader& rows)
      : plan(plan), device(device), communicator(communicator),
        executor(executor), buffers(buffers), rows(rows) {}

  /// Describes a step whose loss or gradient norm is not finite, with the
  /// cause, which it searches by running the step again. Collective.
  Expected<std::string> nonFinite(const StepRecord& record);
  /// Describes a validation loss that is not finite. It is the first sign of a
  /// bad update if it comes before the next training loss.
  static std::string nonFiniteValidation(const StepRecord& record);
  /// Describes a loss spike above the median `usual` of the losses before.
  std::string spike(const StepRecord& record, double usual) const;

private:
  Expected<std::string> causeOf(int64_t step);
  std::string originText(const NonFiniteSearch& search,
                         const NonFiniteSearch::Origin& origin,
                         int64_t step) const;
  Expected<std::string> badGradient();

  const plan::Plan& plan;
  device::Device& device;
  comm::Communicator& communicator;
  exec::Executor& executor;
  StepBuffers& buffers;
  const data::Loader& rows;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_BADSTEPS_H
