// Greedy choice, and sampling by inversion of the cumulative distribution.

#include "runtime/serve/Sampler.h"

#include "runtime/kernels/common/Philox.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace reciperun::serve {

int32_t Sampler::next(std::span<const float> logits) {
  assert(!logits.empty());
  auto likeliest = std::max_element(logits.begin(), logits.end());
  if (temperature == 0)
    return int32_t(likeliest - logits.begin());
  weights.resize(logits.size());
  double total = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    weights[i] = std::exp((double(logits[i]) - *likeliest) / temperature);
    total += weights[i];
  }
  double left = uniform() * total;
  for (size_t i = 0; i < logits.size(); ++i)
    if ((left -= weights[i]) < 0)
      return int32_t(i);
  // Rounding may leave a remainder after the last token.
  return int32_t(likeliest - logits.begin());
}

double Sampler::uniform() {
  kernels::PhiloxCounter words =
      kernels::philox(kernels::philoxCounter(drawn++),
                      kernels::philoxKey(seed, kernels::streamOf("generate")));
  uint64_t bits = uint64_t(words[0]) << 32 | words[1];
  return double(bits >> 11) * 0x1p-53;
}

} // namespace reciperun::serve
