// Follows the steps of a served model and measures the inputs of its linear
// layers and experts.

#ifndef RECIPERUN_SERVE_CALIBRATE_INPUTOBSERVER_H
#define RECIPERUN_SERVE_CALIBRATE_INPUTOBSERVER_H

#include "runtime/base/Status.h"
#include "runtime/checkpoint/quantized/InputStatistics.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Observer.h"
#include "runtime/plan/Plan.h"
#include "runtime/serve/calibrate/ExpertInputs.h"
#include "runtime/serve/engine/StepPlan.h"

#include <optional>
#include <span>
#include <vector>

namespace reciperun::serve {

class InputObserver : public exec::Observer {
public:
  /// The plan serves on one rank; the arguments must outlive the object.
  InputObserver(const plan::Plan& plan, device::Device& device);

  /// Announces the next step. Only its tokens are measured, not the bucket's
  /// padding.
  void startStep(const StepPlan& step);

  void beginsOp(const plan::Op& op, std::span<const device::Tensor> inputs,
                std::span<const device::Tensor> outputs) override;

  /// Fails when an input could not be read, or is not finite.
  const Status& status() const { return failure; }
  /// Returns the statistics so far, of inputs that had at least one token.
  checkpoint::InputStatistics take();

private:
  void findInputs(const plan::Function& function);
  void findNorms(const plan::Function& function);
  int parameterRead(const plan::Op& op, size_t operand) const;
  int matrixOf(const plan::Op& op) const;
  Status measure(const device::Tensor& x, size_t input);

  const plan::Plan& plan;
  device::Device& device;
  std::vector<int> parameterOf; // by buffer of a parameter's value; or -1
  std::vector<int> inputOf;     // by parameter; or -1
  std::vector<int> leaders; // by input: the parameter whose ops are measured
  std::vector<quantize::ActivationStatistics> inputs;
  std::vector<std::optional<checkpoint::InputStatistics::Norm>> norms;
  ExpertInputs experts;
  int64_t bucketTokens = 0, tokens = 0, rows = 0; // of the step
  std::vector<float> values;                      // of an input
  Status failure;
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_CALIBRATE_INPUTOBSERVER_H
