// The buffers through which the host passes inputs to a step and reads its
// results: those in `inputs` and `outputs` of the plan's stage.

#ifndef RECIPERUN_TRAIN_STEPBUFFERS_H
#define RECIPERUN_TRAIN_STEPBUFFERS_H

#include "runtime/data/Loader.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Executor.h"
#include "runtime/plan/Plan.h"
#include "runtime/train/Report.h"

#include <cstdint>
#include <optional>

namespace reciperun::train {

class StepBuffers {
public:
  /// The arguments must outlive the object.
  StepBuffers(const plan::Stage& stage, device::Device& device,
              const exec::Executor& executor)
      : stage(stage), device(device), executor(executor) {}

  /// Fills the input buffers of a micro-batch with its rows.
  Status load(const data::Loader& loader, int64_t step, int microBatch);

  /// Sets the inputs of step `step` (from 0) that are not per micro-batch.
  /// `weight` is the total weight of the tokens counted in its loss.
  Status setInputs(double learningRate, int64_t step, double weight);
  Status setLossScale(double weight);

  /// Reads the results of the step.
  Expected<StepRecord> readOutputs();
  Expected<double> readLoss() { return readOutput(stage.outputs.loss); }

private:
  Expected<double> readOutput(int buffer, int64_t index = 0);
  Expected<std::optional<double>> shareOf(int buffer);

  const plan::Stage& stage;
  device::Device& device;
  const exec::Executor& executor;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_STEPBUFFERS_H
