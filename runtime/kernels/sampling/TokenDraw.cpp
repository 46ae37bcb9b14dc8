// Without filters: draw from all tokens. With filters:
// 1. collect the tokens that top-k keeps, or those above a bound below which
//    min-p and top-p exclude all tokens;
// 2. apply min-p and top-p to them;
// 3. draw one of them.

#include "runtime/kernels/sampling/TokenDraw.h"

#include "runtime/kernels/common/Philox.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace reciperun::kernels {
namespace {

bool hasTopK(const DrawOptions& options, size_t vocab) {
  return options.topK > 0 && uint64_t(options.topK) < vocab;
}

} // namespace

double uniformOf(uint64_t seed, int64_t index) {
  const PhiloxCounter words = philox(philoxCounter(uint64_t(index)),
                                     philoxKey(seed, streamOf("generate")));
  const uint64_t bits = uint64_t(words[0]) << 32 | words[1];
  return double(bits >> 11) * 0x1p-53;
}

int32_t TokenDraw::draw(const DrawOptions& options,
                        std::span<const float> logits, LogitBlocks& blocks,
                        double uniform) {
  if (options.temperature == 0)
    return blocks.likeliest(logits);
  const SoftmaxWeights weights(blocks.highest(), options.temperature);
  const bool isTopK = hasTopK(options, logits.size());
  if (!isTopK && options.topP == 1 && options.minP == 0) {
    sums.compute(logits, weights);
    return sums.draw(logits, weights, uniform);
  }
  collect(options, logits, blocks, weights);
  applyMinP(options.minP, weights, blocks.highest());
  const bool isPart = options.minP > 0 || isTopK;
  applyTopP(options.topP, weights,
            isPart ? sumCandidates(weights) : sums.sumOfWeights());
  double left = uniform * sumCandidates(weights);
  for (const Candidate& each : candidates)
    if ((left -= weights.of(each.logit)) < 0)
      return each.id;
  // Due to rounding, there may be a remainder after the last candidate.
  return blocks.likeliest(logits);
}

void TokenDraw::collect(const DrawOptions& options,
                        std::span<const float> logits, LogitBlocks& blocks,
                        SoftmaxWeights weights) {
  if (hasTopK(options, logits.size())) {
    blocks.takeTop(logits, size_t(options.topK), candidates);
    std::ranges::sort(candidates, {}, &Candidate::id);
  } else {
    blocks.takeFrom(logits,
                    leastLogit(options, logits, weights, blocks.highest()),
                    candidates);
  }
}

/// A logit below which min-p or top-p excludes all tokens. For top-p: all
/// tokens with a weight below (1 - p) * total / vocab together have a weight
/// below (1 - p) * total, so the other tokens have at least the share p.
float TokenDraw::leastLogit(const DrawOptions& options,
                            std::span<const float> logits,
                            SoftmaxWeights weights, float highest) {
  const double weight = options.minP > 0 ? options.minP
                                         : (1 - options.topP) *
                                               sums.compute(logits, weights) /
                                               double(logits.size());
  // The margin is larger than the error of weights.
  constexpr double margin = 1e-4;
  const double least =
      highest + options.temperature * (std::log(weight) - margin);
  return float(std::max<double>(least, std::numeric_limits<float>::lowest()));
}

void TokenDraw::applyMinP(double minP, SoftmaxWeights weights, float highest) {
  if (minP == 0)
    return;
  std::erase_if(candidates, [&](const Candidate& each) {
    return each.logit != highest && weights.of(each.logit) < minP;
  });
}

/// `total` is the sum of the weights of which p is a share.
void TokenDraw::applyTopP(double topP, SoftmaxWeights weights, double total) {
  if (topP == 1)
    return;
  const Candidate last = lastOfTopP(weights, topP * total);
  std::erase_if(candidates,
                [&](const Candidate& each) { return isBefore(last, each); });
}

/// The candidate at which the running sum of weights, in the order of
/// candidates, reaches `least`. Found by bisection with partial sorts, instead
/// of sorting all candidates.
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

} // namespace reciperun::kernels
