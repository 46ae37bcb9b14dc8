// Activation-aware weight quantization: input channels with large activations
// are scaled up before their weights are quantized, so that they lose less
// (AWQ, Lin et al. 2024, arXiv 2306.00978, 3.2). `quantized_linear` scales its
// input down by the same factors (`in_scale`).

#ifndef RECIPERUN_QUANTIZE_ACTIVATIONSCALES_H
#define RECIPERUN_QUANTIZE_ACTIVATIONSCALES_H

#include "runtime/quantize/Quantizers.h"

namespace reciperun::quantize {

/// Mean and maximum of |x| over the tokens of a calibration text, for each of
/// the k input channels of a weight.
struct ActivationStatistics {
  std::vector<float> mean, largest;
  int64_t tokens = 0;

  explicit ActivationStatistics(int64_t channels)
      : mean(size_t(channels)), largest(size_t(channels)) {}
  /// Adds rows of x [tokens, k].
  void add(std::span<const float> x);
};

/// The result of the search.
struct ActivationScales {
  QuantizedMatrix weight;     // of W times 1 / inScale
  std::vector<float> inScale; // [k]
  double alpha = 0;           // the exponent that was chosen
  /// The expected square error of an output, from the mean of |x|, and that
  /// without scales.
  double error = 0, plainError = 0;
};

/// Quantizes W [n,k] with the factors s_j = mean_j^alpha, divided by the root
/// of the product of their extremes, for the alpha in 0, 1/20, ..., 1 with the
/// least error. Errors of input channels are taken as independent: the error is
/// the sum over j of mean_j^2 |W_j - Q(W s)_j / s_j|^2. At alpha = 0 the weight
/// is that of quantizeMatrix. Needs memory for three copies of W.
Expected<ActivationScales>
searchActivationScales(const Scheme& scheme, std::span<const float> values,
                       const ActivationStatistics& statistics, int threads);

} // namespace reciperun::quantize

#endif // RECIPERUN_QUANTIZE_ACTIVATIONSCALES_H
