// See StepBuffers.h.

#include "runtime/train/StepBuffers.h"

#include "runtime/device/HostCopy.h"

#include <cmath>

namespace reciperun::train {

Status StepBuffers::load(const data::Loader& loader, int64_t step,
                         int microBatch) {
  const plan::Inputs& in = stage.inputs;
  auto open = [&](int buffer) {
    return device::HostCopy(device, executor.tensor(buffer, microBatch));
  };
  device::HostCopy tokens = open(in.tokens), labels = open(in.labels),
                   weights = open(in.weights),
                   furtherLabels = open(in.furtherLabels),
                   furtherWeights = open(in.furtherWeights),
                   positions = open(in.positions), segments = open(in.segments),
                   places = open(in.places), samples = open(in.samples);
  RECIPERUN_TRY(loader.fill(
      step, microBatch,
      {tokens.as<int32_t>(), labels.as<int32_t>(), weights.as<float>(),
       positions.as<int32_t>(), segments.as<int32_t>(), places.as<int32_t>(),
       samples.as<int64_t>(), furtherLabels.as<int32_t>(),
       furtherWeights.as<float>(), float(in.furtherFactor)}));
  for (device::HostCopy* input :
       {&tokens, &labels, &weights, &furtherLabels, &furtherWeights, &positions,
        &segments, &places, &samples})
    RECIPERUN_TRY(input->store());
  return Status::ok();
}

Status StepBuffers::setInputs(double learningRate, int64_t step,
                              double weight) {
  const plan::Inputs& in = stage.inputs;
  auto set = [&](int buffer, auto value) {
    return device::writeElement(device, executor.tensor(buffer), value);
  };
  RECIPERUN_TRY(set(in.learningRate, float(learningRate)));
  RECIPERUN_TRY(set(in.step, int32_t(step + 1)));
  return setLossScale(weight);
}

/// Sets the factor of each counted token in the loss, which makes the loss
/// their mean.
Status StepBuffers::setLossScale(double weight) {
  const float scale = weight > 0 ? float(1.0 / weight) : 0.0f;
  return device::writeElement(device, executor.tensor(stage.inputs.lossScale),
                              scale);
}

Expected<StepRecord> StepBuffers::readOutputs() {
  StepRecord record;
  Expected<double> loss = readOutput(stage.outputs.loss);
  RECIPERUN_TRY(loss);
  record.loss = *loss;
  if (stage.outputs.furtherLoss >= 0) {
    Expected<double> further = readOutput(stage.outputs.furtherLoss);
    RECIPERUN_TRY(further);
    record.furtherLoss = *further / stage.inputs.furtherFactor;
  }
  if (stage.outputs.normSquared >= 0) {
    Expected<double> squares = readOutput(stage.outputs.normSquared);
    RECIPERUN_TRY(squares);
    record.gradNorm = std::sqrt(*squares);
  }
  auto dropped = shareOf(stage.outputs.dropped);
  RECIPERUN_TRY(dropped);
  record.droppedShare = *dropped;
  auto overflow = shareOf(stage.outputs.overflow);
  RECIPERUN_TRY(overflow);
  record.overflowShare = *overflow;
  auto secondPass = shareOf(stage.outputs.secondPass);
  RECIPERUN_TRY(secondPass);
  record.secondPassShare = *secondPass;
  return record;
}

Expected<double> StepBuffers::readOutput(int buffer, int64_t index) {
  return device::readElement<double>(device, executor.tensor(buffer), index);
}

/// The second of the buffer's two counts as a share of the first; nullopt
/// without a buffer.
Expected<std::optional<double>> StepBuffers::shareOf(int buffer) {
  if (buffer < 0)
    return std::optional<double>();
  Expected<double> all = readOutput(buffer, 0);
  RECIPERUN_TRY(all);
  Expected<double> part = readOutput(buffer, 1);
  RECIPERUN_TRY(part);
  return std::optional<double>(*part / *all);
}

} // namespace reciperun::train
