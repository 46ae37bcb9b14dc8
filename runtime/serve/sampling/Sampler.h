// Chooses the next token from its logits.

#ifndef RECIPERUN_SERVE_SAMPLING_SAMPLER_H
#define RECIPERUN_SERVE_SAMPLING_SAMPLER_H

#include "runtime/base/Status.h"
#include "runtime/serve/sampling/SamplingOptions.h"
#include "runtime/serve/sampling/TokenConstraint.h"

#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace reciperun::serve {

/// A chosen token, and the log probabilities that SamplingOptions::logprobs
/// asks for.
struct SampledToken {
  int32_t id = -1;
  float logprob = 0;
  std::vector<std::pair<int32_t, float>> top = {};
};

/// Chooses the likeliest token at temperature 0 (the lowest id of ties),
/// otherwise samples from softmax(logits / temperature). The n-th sample is a
/// function of seed and n, so that an answer can be reproduced.
class Sampler {
public:
  Sampler(SamplingOptions options, int64_t vocab,
          std::span<const int32_t> prompt, std::set<int32_t> endTokens);

  /// The next token of the answer. `logits` [vocab] are changed; `constraint`
  /// may be null.
  Expected<SampledToken> next(std::span<float> logits,
                              TokenConstraint* constraint);

private:
  /// Uniform in [0, 1), 53 bits.
  double uniform();

  SamplingOptions options;
  uint64_t drawn = 0;
  std::vector<double> weights;
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_SAMPLING_SAMPLER_H
