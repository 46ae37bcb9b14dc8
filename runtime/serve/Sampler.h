// Chooses the next token from its logits.

#ifndef RECIPERUN_SERVE_SAMPLER_H
#define RECIPERUN_SERVE_SAMPLER_H

#include <cstdint>
#include <span>
#include <vector>

namespace reciperun::serve {

/// Chooses the likeliest token at temperature 0 (the lowest id of ties),
/// otherwise samples from softmax(logits / temperature). The n-th sample is a
/// function of seed and n, so that an answer can be reproduced.
class Sampler {
public:
  /// `temperature` is at least 0 and finite.
  Sampler(double temperature, uint64_t seed)
      : temperature(temperature), seed(seed) {}

  /// `logits` has at least one element; returns its index.
  int32_t next(std::span<const float> logits);

private:
  /// Uniform in [0, 1), 53 bits.
  double uniform();

  double temperature;
  uint64_t seed;
  uint64_t drawn = 0;
  std::vector<double> weights;
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_SAMPLER_H
