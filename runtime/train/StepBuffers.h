// The buffers by which the host gives a step its inputs and reads its results:
// those that the plan's stage names in `inputs` and `outputs`.

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
  /// The arguments outlive the object.
  StepBuffers(const plan::Stage& stage, device::Device& device,
              const exec::Executor& executor)
      : stage(stage), device(device), executor(executor) {}

  /// Fills those of a micro-batch with its rows.
  Status load(const data::Loader& loader, int64_t step, int microBatch);

  /// What a step, the first being 0, wants beside its micro-batches; `weight`
  /// is of the places that count in its loss.
  Status setInputs(double learningRate, int64_t step, double weight);
  Status setLossScale(double weight);

  /// What the step has left in buffers.
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
