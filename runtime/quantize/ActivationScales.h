// Activation-aware weight quantization: input channels with large activations
// are scaled up before their weights are quantized, so that they lose less
// (AWQ, Lin et al. 2024, arXiv 2306.00978, 3.2). `quantized_linear` scales its
// input down by the same factors (`in_scale`).

#ifndef RECIPERUN_QUANTIZE_ACTIVATIONSCALES_H
#define RECIPERUN_QUANTIZE_ACTIVATIONSCALES_H

#include "runtime/quantize/Quantizers.h"

namespace reciperun::quantize {

/// Means of |x| and of x^2 over the tokens of a calibration text, for each of
/// the k input channels of a weight.
struct ActivationStatistics {
  std::vector<float> mean, meanSquare;
  int64_t tokens = 0;

  explicit ActivationStatistics(int64_t channels)
      : mean(size_t(channels)), meanSquare(size_t(channels)) {}
  /// Adds rows of x [tokens, k].
  void add(std::span<const float> x);
  /// Adds other tokens of the same channels.
  void add(const ActivationStatistics& other);
};

/// The result of a search.
struct ActivationScales {
  std::vector<float> inScale; // [k]; the weight is W times 1 / inScale
  double alpha = 0;           // the exponent that was chosen
  /// The expected square error of the outputs, and that without factors.
  double error = 0, plainError = 0;
};

/// Searches the factors of an input x [k], which all weights that read x share:
/// s_j = mean_j^alpha, divided by the geometric mean of the smallest and the
/// largest of them. Chooses alpha from 0, 1/20, ..., 1 by the least error of
/// all outputs. The errors of input channels are assumed to be independent: the
/// error is the sum over j of E[x_j^2] |W_j - Q(W s)_j / s_j|^2. Clipping in Q
/// minimises the same error. For alpha = 0 all factors are 1, which is
/// round-to-nearest. Weights are added run by run, so that the search needs
/// memory for three runs only.
class ActivationScaleSearch {
public:
  /// `statistics` must outlive the search. The scheme has scales of rows or of
  /// groups.
  ActivationScaleSearch(const Scheme& scheme,
                        const ActivationStatistics& statistics, int threads);

  /// Adds rows [rows, k] of a weight that reads x. Fails for NaN and infinity.
  Status add(std::span<const float> rows) { return add(rows, statistics); }
  /// Adds rows of a weight that reads only the tokens of `part`, as an expert's
  /// does. Its errors count by the share of these tokens.
  Status add(std::span<const float> rows, const ActivationStatistics& part);
  /// The factors for all rows that were added.
  ActivationScales best() const;

private:
  Scheme scheme;
  const ActivationStatistics& statistics;
  int threads;
  // By step of alpha.
  std::vector<std::vector<float>> factors; // s
  std::vector<double> errors;
  std::vector<float> scaled; // of a run
};

/// The importance of the columns of W times 1 / inScale (quantizeRows).
std::vector<float> columnImportance(const ActivationStatistics& statistics,
                                    std::span<const float> inScale);

/// Multiplies rows [rows, k] by 1 / inScale.
void scaleInputs(std::span<const float> inScale, std::span<float> rows);

} // namespace reciperun::quantize

#endif // RECIPERUN_QUANTIZE_ACTIVATIONSCALES_H
