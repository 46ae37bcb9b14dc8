// Measures the inputs of the matrices of experts: of each expert the tokens
// that the router sends it.

#ifndef RECIPERUN_SERVE_CALIBRATE_EXPERTINPUTS_H
#define RECIPERUN_SERVE_CALIBRATE_EXPERTINPUTS_H

#include "runtime/base/Status.h"
#include "runtime/checkpoint/quantized/InputStatistics.h"
#include "runtime/device/Device.h"
#include "runtime/plan/Plan.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace reciperun::serve {

class ExpertInputs {
public:
  /// An expert with fewer tokens has too few for means of its own.
  static constexpr int64_t leastTokens = 32;

  /// The plan serves on one rank; the arguments must outlive the object.
  ExpertInputs(const plan::Plan& plan, device::Device& device);

  /// Measures the input of an `expert_linear` op; does nothing for other ops.
  /// Fails when the input cannot be read, or is not finite.
  Status measure(const plan::Op& op, std::span<const device::Tensor> read);

  /// Adds the measured inputs. All experts of a layer share the input that
  /// tokens are dispatched from. What an expert computes, the input of its last
  /// matrix, is its own. Experts with fewer than `leastTokens` tokens have the
  /// means over all experts of the layer.
  void addTo(checkpoint::InputStatistics& taken) const;

private:
  /// What the experts of a layer multiply by one or more matrices.
  struct Input {
    std::vector<int> parameters; // the first one's ops are measured
    bool isShared = false;       // the experts' rows are tokens of one input
    /// The parameter whose results are a factor of the input; or -1.
    int maker = -1;
    std::vector<quantize::ActivationStatistics> experts;
  };

  int matrixOf(const plan::Op& op) const;
  void findInputs(const plan::Function& function);
  void describe(const plan::Function& function, const plan::Op& op,
                Input& input) const;
  void addShared(const Input& input, const quantize::ActivationStatistics& all,
                 checkpoint::InputStatistics& taken) const;
  void addOwn(const Input& input, const quantize::ActivationStatistics& all,
              checkpoint::InputStatistics& taken) const;
  std::string tensorOf(int parameter, size_t expert) const;

  const plan::Plan& plan;
  device::Device& device;
  std::vector<int> parameterOf; // by buffer of a parameter's value; or -1
  std::vector<int> inputOf;     // by parameter; or -1
  std::vector<Input> inputs;
  std::vector<float> values; // of an expert
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_CALIBRATE_EXPERTINPUTS_H
