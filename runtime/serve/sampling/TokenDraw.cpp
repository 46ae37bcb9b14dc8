// 1. Without filters: draw from all tokens. Otherwise: 2. collect the tokens
// that top-k keeps, or those above a bound that min-p and top-p certainly
// exclude;
// 3. apply min-p and top-p to them; 4. draw one of them. Only top-k sorts, and
// only its k tokens.

#include "runtime/serve/sampling/TokenDraw.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace reciperun::serve {

TokenDraw::TokenDraw(const SamplingOptions& options)
    : temperature(options.temperature), topK(size_t(options.topK)),
      topP(options.topP), minP(options.minP) {}

int32_t TokenDraw::draw(std::span<const float> logits, LogitBlocks& blocks,
                        double uniform) {
  const SoftmaxWeights weights(blocks.highest(), temperature);
  if (!hasTopK(logits.size()) && topP == 1 && minP == 0) {
    sums.compute(logits, weights);
    return sums.draw(logits, weights, uniform);
  }
  collect(logits, blocks, weights);
  applyMinP(weights, blocks.highest());
  const bool isPart = minP > 0 || hasTopK(logits.size());
  applyTopP(weights, isPart ? sumCandidates(weights) : sums.sumOfWeights());
  double left = uniform * sumCandidates(weights);
  for (const Candidate& each : candidates)
    if ((left -= weights.of(each.logit)) < 0)
      return each.id;
  // Rounding may leave a remainder after the last one.
  return blocks.likeliest(logits);
}

void TokenDraw::collect(std::span<const float> logits, LogitBlocks& blocks,
                        SoftmaxWeights weights) {
  if (hasTopK(logits.size()))
    blocks.takeTop(logits, topK, candidates);
  else
    blocks.takeFrom(logits, leastLogit(logits, weights, blocks.highest()),
                    candidates);
}

/// A logit below which min-p or top-p excludes all tokens. For top-p: tokens of
/// a weight below (1 - p) * total / vocab sum to less than (1 - p) * total, so
/// that the others have at least the share p.
float TokenDraw::leastLogit(std::span<const float> logits,
                            SoftmaxWeights weights, float highest) {
  const double weight = minP > 0 ? minP
                                 : (1 - topP) * sums.compute(logits, weights) /
                                       double(logits.size());
  // The margin is larger than the error of weights.
  constexpr double margin = 1e-4;
  const double least = highest + temperature * (std::log(weight) - margin);
  return float(std::max<double>(least, std::numeric_limits<float>::lowest()));
}

void TokenDraw::applyMinP(SoftmaxWeights weights, float highest) {
  if (minP == 0)
    return;
  const auto isExcluded = [&](const Candidate& each) {
    return each.logit != highest && weights.of(each.logit) < minP;
  };
  candidates.erase(
      std::remove_if(candidates.begin(), candidates.end(), isExcluded),
      candidates.end());
}

/// `total` is the sum of the weights to which p relates.
void TokenDraw::applyTopP(SoftmaxWeights weights, double total) {
  if (topP == 1)
    return;
  const Candidate last = lastOfTopP(weights, topP * total);
  const auto isExcluded = [&](const Candidate& each) {
    return isBefore(last, each);
  };
  candidates.erase(
      std::remove_if(candidates.begin(), candidates.end(), isExcluded),
      candidates.end());
}

/// The candidate at which the running sum of weights reaches `least`. Halves
/// the range that has it, instead of sorting all candidates.
Candidate TokenDraw::lastOfTopP(SoftmaxWeights weights, double least) {
  order = candidates;
  auto first = order.begin(), end = order.end();
  double sum = 0; // of the weights before `first`
  while (end - first > 1) {
    const auto middle = first + (end - first) / 2;
    std::nth_element(first, middle, end, isBefore);
    double half = 0;
    for (auto each = first; each != middle; ++each)
      half += weights.of(each->logit);
    if (sum + half >= least) {
      end = middle;
    } else {
      sum += half;
      first = middle;
    }
  }
  return *first;
}

double TokenDraw::sumCandidates(SoftmaxWeights weights) const {
  double sum = 0;
  for (const Candidate& each : candidates)
    sum += weights.of(each.logit);
  return sum;
}

} // namespace reciperun::serve
