// 1. Without filters: draw from all tokens, which needs no sorting. Otherwise:
// 2. collect the candidates that top-k and min-p keep, or enough of the
//    likeliest for top-p; 3. keep those of top-p; 4. draw one of them.

#include "runtime/serve/sampling/TokenDraw.h"

#include <algorithm>
#include <cmath>

namespace reciperun::serve {
namespace {

/// The number of candidates that top-p tries first, and the factor by which the
/// number grows while they do not have enough probability.
constexpr size_t firstTopPCount = 256, topPGrowth = 8;

} // namespace

TokenDraw::TokenDraw(const SamplingOptions& options)
    : temperature(options.temperature), topK(size_t(options.topK)),
      topP(options.topP), minP(options.minP) {}

int32_t TokenDraw::draw(std::span<const float> logits, LogitBlocks& blocks,
                        double uniform) {
  const SoftmaxWeights weights(blocks.highest(), temperature);
  const bool hasTopK = topK > 0 && topK < logits.size();
  if (!hasTopK && topP == 1 && minP == 0) {
    sums.compute(logits, weights);
    return sums.draw(logits, weights, uniform);
  }
  if (hasTopK || minP > 0) {
    collectCandidates(logits, blocks, weights);
    candidates.resize(countTopP(weighCandidates(weights)));
  } else {
    collectTopP(logits, blocks, weights);
  }
  double total = 0;
  for (size_t i = 0; i < candidates.size(); ++i)
    total += candidateWeights[i];
  double left = uniform * total;
  size_t chosen = 0; // also where rounding leaves a remainder after the last
  for (size_t i = 0; i < candidates.size(); ++i)
    if ((left -= candidateWeights[i]) < 0) {
      chosen = i;
      break;
    }
  return candidates[chosen].id;
}

/// The candidates that min-p and top-k keep.
void TokenDraw::collectCandidates(std::span<const float> logits,
                                  LogitBlocks& blocks, SoftmaxWeights weights) {
  // The logit of weight minP is rounded down; the weight decides below.
  const double least =
      minP > 0 ? blocks.highest() + temperature * std::log(minP) : 0;
  const float bound = std::nextafter(float(least), -INFINITY);
  if (topK > 0 && topK < logits.size())
    blocks.takeTop(logits, topK, candidates);
  else
    blocks.takeFrom(logits, bound, candidates);
  if (minP > 0) {
    const auto isKept = [&](const Candidate& each) {
      return each.logit == blocks.highest() || weights.of(each.logit) >= minP;
    };
    candidates.erase(
        std::partition_point(candidates.begin(), candidates.end(), isKept),
        candidates.end());
  }
}

/// The candidates that top-p alone keeps.
void TokenDraw::collectTopP(std::span<const float> logits, LogitBlocks& blocks,
                            SoftmaxWeights weights) {
  const double total = sums.compute(logits, weights);
  for (size_t count = firstTopPCount;; count *= topPGrowth) {
    blocks.takeTop(logits, count, candidates);
    const double collected = weighCandidates(weights);
    if (collected >= topP * total || candidates.size() < count) {
      candidates.resize(countTopP(total));
      return;
    }
  }
}

/// Computes the candidates' weights and returns their sum.
double TokenDraw::weighCandidates(SoftmaxWeights weights) {
  candidateWeights.resize(candidates.size());
  double total = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    candidateWeights[i] = weights.of(candidates[i].logit);
    total += candidateWeights[i];
  }
  return total;
}

/// The number of candidates that top-p keeps where `total` is the sum of the
/// weights to which it relates.
size_t TokenDraw::countTopP(double total) const {
  if (topP == 1)
    return candidates.size();
  double sum = 0;
  for (size_t i = 0; i < candidates.size(); ++i)
    if ((sum += candidateWeights[i]) >= topP * total)
      return i + 1;
  return candidates.size();
}

} // namespace reciperun::serve
