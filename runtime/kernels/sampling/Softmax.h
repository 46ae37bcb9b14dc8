// The softmax of logits, as weights relative to the largest logit.

#ifndef RECIPERUN_KERNELS_SAMPLING_SOFTMAX_H
#define RECIPERUN_KERNELS_SAMPLING_SOFTMAX_H

#include "runtime/kernels/common/Exponential.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace reciperun::kernels {

/// exp((logit - highest) / temperature), with the error of `exponential`,
/// rounded to a multiple of 2^-35. Sums of up to 2^18 weights are exact.
/// Probabilities are weights divided by their sum.
class SoftmaxWeights {
public:
  /// `highest` is the largest of the logits, and finite.
  SoftmaxWeights(float highest, double temperature)
      : highest(highest), scale(std::max(float(1 / temperature),
                                         std::numeric_limits<float>::min())) {}

  double of(float logit) const {
    constexpr double rounder = 0x1.8p17; // a unit in the last place is 2^-35
    const float weight = exponential((logit - highest) * scale);
    return (double(weight) + rounder) - rounder;
  }

private:
  float highest;
  float scale; // above 0, so that -infinity has the weight 0
};

/// The weights of many logits, summed in blocks so that a draw reads only one
/// block again.
class WeightSums {
public:
  static constexpr size_t blockSize = 64;

  /// Computes the sums and returns the total, at least 1.
  double compute(std::span<const float> logits, SoftmaxWeights weights);
  double sumOfWeights() const { return total; }
  /// The token at which the running sum of weights, in the order of the ids,
  /// exceeds `uniform` * total; `uniform` is in [0, 1). The logits and weights
  /// are those of `compute`. Never returns a token of weight 0.
  int32_t draw(std::span<const float> logits, SoftmaxWeights weights,
               double uniform) const;

private:
  std::vector<double> sums; // of blocks
  double total = 0;
};

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_SAMPLING_SOFTMAX_H
