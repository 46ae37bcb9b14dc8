// Reads the hidden states after the model's last norm, in the steps that want
// them.
//
// The states are in a buffer that does not outlive the step, so an observer
// copies them as soon as the norm has run. Only such steps have an observer;
// other steps run as one recording.

#ifndef RECIPERUN_SERVE_ENGINE_HIDDENROWS_H
#define RECIPERUN_SERVE_ENGINE_HIDDENROWS_H

#include "runtime/base/Status.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Observer.h"
#include "runtime/plan/Plan.h"
#include "runtime/serve/engine/StepPlan.h"

#include <cstdint>
#include <span>
#include <vector>

namespace reciperun::serve {

class HiddenRows : public exec::Observer {
public:
  /// `plan` serves and must outlive the object.
  explicit HiddenRows(const plan::Plan& plan);

  /// The length of a hidden state; 0 when no norm runs on the selected rows.
  int64_t width() const { return channels; }

  /// Announces a step that wants rows. `from` is the device of the last stage.
  void begin(const StepReads& reads, device::Device& from);
  void endsOp(const plan::Op& op,
              std::span<const device::Tensor> outputs) override;

  /// Fails when the states of the step could not be read.
  const Status& status() const { return failure; }
  /// The hidden states of the given rows of the last step, row by row.
  std::span<const float> rowsOf(const RowRange& range) const;

private:
  std::vector<int> results; // by bucket: the buffer that the norm writes
  int64_t channels = 0;
  // The current step:
  StepReads reads;
  device::Device* device = nullptr;
  std::vector<float> values; // [rows, channels]
  Status failure;
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_HIDDENROWS_H
