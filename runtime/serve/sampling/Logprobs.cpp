// See Logprobs.h.

#include "runtime/serve/sampling/Logprobs.h"

#include "runtime/kernels/sampling/Softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace reciperun::serve {

Status Logprobs::measure(std::span<const float> logits,
                         kernels::LogitBlocks& blocks) {
  RECIPERUN_TRY(blocks.scan(logits));
  topLogits.clear();
  logSum = 0;
  const float highest = blocks.highest();
  if (highest == -std::numeric_limits<float>::infinity())
    return Status::ok(); // all log probabilities are -infinity
  kernels::WeightSums sums;
  logSum = highest +
           std::log(sums.compute(
               logits, kernels::SoftmaxWeights(highest, /*temperature=*/1)));
  if (top > 0)
    blocks.takeTop(logits, size_t(top), topLogits);
  return Status::ok();
}

SampledToken Logprobs::of(int32_t id, std::span<const float> logits) const {
  const float own = logits[size_t(id)];
  SampledToken token{.id = id, .logprob = float(own - logSum)};
  token.rank = std::ranges::count_if(
      logits, [own](float logit) { return logit >= own; });
  token.top.reserve(topLogits.size());
  for (const kernels::Candidate& each : topLogits)
    token.top.emplace_back(each.id, float(each.logit - logSum));
  return token;
}

} // namespace reciperun::serve
