// The softmax of logits, as weights relative to the largest logit.

#ifndef RECIPERUN_SERVE_SAMPLING_SOFTMAX_H
#define RECIPERUN_SERVE_SAMPLING_SOFTMAX_H

#include "runtime/kernels/common/Exponential.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace reciperun::serve {

/// exp((logit - highest) / temperature), with the error of
/// kernels::exponential. Probabilities are weights divided by their sum.
class SoftmaxWeights {
public:
  /// `highest` is the largest of the logits, and finite.
  SoftmaxWeights(float highest, double temperature)
      : highest(highest), scale(std::max(float(1 / temperature),
                                         std::numeric_limits<float>::min())) {}

  float of(float logit) const {
    return kernels::exponential((logit - highest) * scale);
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
  std::vector<float> sums; // of blocks
  double total = 0;
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_SAMPLING_SOFTMAX_H
