// See Scalars.h.

#include "runtime/train/metrics/Scalars.h"

namespace reciperun::train {

std::vector<Scalar> scalarsOf(const StepRecord& record) {
  std::vector<Scalar> scalars = {{"epoch", record.epoch},
                                 {"loss", record.loss},
                                 {"lr", record.learningRate},
                                 {"grad_norm", record.gradNorm},
                                 {"samples", double(record.samples)},
                                 {"step_seconds", record.times.step},
                                 {"tokens_per_second", record.tokensPerSecond},
                                 {"tflops_per_rank", record.tflopsPerRank},
                                 {"device_bytes", double(record.deviceBytes)}};
  const auto add = [&](const char* name, const std::optional<double>& value) {
    if (value)
      scalars.push_back({name, *value});
  };
  add("valid_loss", record.validLoss);
  add("further_loss", record.furtherLoss);
  add("mfu", record.mfu);
  add("host_seconds", record.hostSeconds);
  add("dropped_share", record.droppedShare);
  add("overflow_share", record.overflowShare);
  add("second_pass_share", record.secondPassShare);
  for (size_t i = 0; i < phaseNames.size(); ++i)
    scalars.push_back(
        {std::string("seconds/") + phaseNames[i], record.times.phases[i]});
  scalars.push_back({"seconds/saving", record.times.saving});
  for (const auto& [group, norm] : record.gradNorms)
    scalars.push_back({"grad_norms/" + group, norm});
  return scalars;
}

} // namespace reciperun::train
