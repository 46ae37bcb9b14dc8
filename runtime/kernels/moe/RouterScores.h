// Shared parts of route and its gradient: sizes, a token's scores, and the
// totals of a sequence for its balancing losses.

#ifndef RECIPERUN_KERNELS_MOE_ROUTERSCORES_H
#define RECIPERUN_KERNELS_MOE_ROUTERSCORES_H

#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/common/Types.h"
#include "runtime/ops/ExpertOps.h"

#include <algorithm>
#include <cmath>

namespace reciperun::kernels {

/// Sizes and settings of a route op.
struct Routing {
  int64_t batch, sequence, experts, choices;
  bool isSigmoid, isNormalized;
  double scale;
  double balance; // factor of the balancing loss
  double square;  // factor of the loss of squared log-sums

  /// `indices` is [batch, sequence, choices].
  Routing(const plan::Op& op, const device::Tensor& logits,
          const device::Tensor& indices)
      : Routing(ops::RouteAttributes(op.attributes), logits, indices) {}
  Routing(const ops::RouteAttributes& route, const device::Tensor& logits,
          const device::Tensor& indices)
      : batch(indices.shape[0]), sequence(indices.shape[1]),
        experts(logits.elements() / (batch * sequence)),
        choices(indices.shape[2]), isSigmoid(route.score == "sigmoid"),
        isNormalized(route.normalize), scale(route.scale),
        balance(route.auxLoss), square(route.zLoss) {}

  bool hasLoss() const { return balance != 0 || square != 0; }

  /// The expert of a choice, with or without capacity. It is clamped, because
  /// the choice comes from a buffer.
  int64_t expertOf(int32_t choice) const {
    return std::min<int64_t>(choice < 0 ? ~choice : choice, experts - 1);
  }
};

/// log sum exp of a token's logits.
template <class T> Math<T> logSumOf(const T* logits, int64_t experts) {
  using M = Math<T>;
  M highest = M(logits[0]);
  for (int64_t e = 1; e < experts; ++e)
    highest = std::max(highest, M(logits[e]));
  M sum = 0;
  for (int64_t e = 0; e < experts; ++e)
    sum += std::exp(M(logits[e]) - highest);
  return highest + std::log(sum);
}

/// A token's scores: the softmax of its logits, or the sigmoid of each.
template <class T>
void scoresOf(const Routing& routing, const T* logits, Math<T>* scores) {
  using M = Math<T>;
  if (routing.isSigmoid) {
    for (int64_t e = 0; e < routing.experts; ++e)
      scores[e] = M(1) / (M(1) + std::exp(-M(logits[e])));
    return;
  }
  const M logSum = logSumOf(logits, routing.experts);
  for (int64_t e = 0; e < routing.experts; ++e)
    scores[e] = std::exp(M(logits[e]) - logSum);
}

/// Prevents a division by a sum of scores of 0.
inline constexpr double tinyScore = 1e-20;

/// The sum of a token's scores, by which they are normalised to sum 1.
template <class M> M sumOfScores(const Routing& routing, const M* scores) {
  if (!routing.isSigmoid)
    return M(1);
  M sum = M(tinyScore);
  for (int64_t e = 0; e < routing.experts; ++e)
    sum += scores[e];
  return sum;
}

/// A sequence's share of the loss, and the number of its tokens without
/// padding.
struct SequenceShare {
  double weight = 0; // the sum of its loss weights times the loss scale
  int64_t tokens = 0;

  SequenceShare(const int32_t* segments, const float* weights, float scale,
                int64_t sequence) {
    for (int64_t t = 0; t < sequence; ++t) {
      weight += weights ? double(weights[t]) * scale : 0.0;
      tokens += segments[t] >= 0;
    }
  }
};

/// counts[e] = the number of tokens of a sequence that chose expert e, with or
/// without capacity.
inline void countChoices(const Routing& routing, const int32_t* segments,
                         const int32_t* indices, int64_t* counts) {
  std::fill_n(counts, routing.experts, 0);
  for (int64_t t = 0; t < routing.sequence; ++t)
    for (int64_t j = 0; segments[t] >= 0 && j < routing.choices; ++j)
      ++counts[routing.expertOf(indices[t * routing.choices + j])];
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_MOE_ROUTERSCORES_H
