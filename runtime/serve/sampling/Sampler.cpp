// Greedy choice, and sampling by inversion of the cumulative distribution.

#include "runtime/serve/sampling/Sampler.h"

#include "runtime/kernels/common/Philox.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace reciperun::serve {

Sampler::Sampler(SamplingOptions options, int64_t, std::span<const int32_t>,
                 std::set<int32_t>)
    : options(std::move(options)) {}

Expected<SampledToken> Sampler::next(std::span<float> logits,
                                     TokenConstraint*) {
  assert(!logits.empty());
  const double temperature = options.temperature;
  auto likeliest = std::max_element(logits.begin(), logits.end());
  if (temperature == 0)
    return SampledToken{int32_t(likeliest - logits.begin())};
  weights.resize(logits.size());
  double total = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    weights[i] = std::exp((double(logits[i]) - *likeliest) / temperature);
    total += weights[i];
  }
  double left = uniform() * total;
  for (size_t i = 0; i < logits.size(); ++i)
    if ((left -= weights[i]) < 0)
      return SampledToken{int32_t(i)};
  // Rounding may leave a remainder after the last token.
  return SampledToken{int32_t(likeliest - logits.begin())};
}

double Sampler::uniform() {
  kernels::PhiloxCounter words = kernels::philox(
      kernels::philoxCounter(drawn++),
      kernels::philoxKey(options.seed, kernels::streamOf("generate")));
  uint64_t bits = uint64_t(words[0]) << 32 | words[1];
  return double(bits >> 11) * 0x1p-53;
}

} // namespace reciperun::serve
