// The problem that attention's kernels on GPUs are given: sizes, the rule of
// the mask and the tokens of both sides; and what rows of heads are in memory.

#ifndef RECIPERUN_KERNELS_ATTENTION_ATTENTIONSHAPE_CUH
#define RECIPERUN_KERNELS_ATTENTION_ATTENTIONSHAPE_CUH

#include "runtime/kernels/attention/AttentionMask.cuh"
#include "runtime/sizes/KernelLimits.h"

#include <cstdint>

namespace reciperun::kernels::cuda {

using sizes::widestHead;

struct AttentionShape {
  int batch, heads, keyHeads, width;
  float scale;
  float softcap; // 0: none
  MaskRule rule;
  TokenSide queries, keys;

  __host__ __device__ int group() const { return heads / keyHeads; }

  /// The element at which a head's row of a query or key begins, in [b,
  /// queries, heads, width] and [b, keys, keyHeads, width].
  __device__ int64_t queryAt(int sequence, int head, int token) const {
    return ((int64_t(sequence) * queries.count + token) * heads + head) * width;
  }
  __device__ int64_t keyAt(int sequence, int keyHead, int token) const {
    return ((int64_t(sequence) * keys.count + token) * keyHeads + keyHead) *
           width;
  }
  /// The element of [b, heads, queries] that is a query's.
  __device__ int64_t rowAt(int sequence, int head, int token) const {
    return (int64_t(sequence) * heads + head) * queries.count + token;
  }
};

/// Where a query sees nothing, the running maximum, and its lse between blocks:
/// finite, so that the difference of two is never NaN.
inline constexpr float nothingSeenYet = -0x1.fffffep+126f;

inline constexpr float log2OfE = 1.44269504088896340736f;
inline constexpr float logOf2 = 0.69314718055994530942f;

/// 2^x by the special function unit: within 2 units in the last place.
__device__ inline float powerOf2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// tanh to an absolute error of 1e-7.
__device__ inline float boundedTangent(float x) {
  return 1.0f - __fdividef(2.0f, powerOf2(2.0f * log2OfE * x) + 1.0f);
}

/// Scores in powers of two: score(product) is log2(e) times the score, slope
/// the score's derivative by scale times the product.
struct ScoreRule {
  float factor; // of the product: log2(e) scale, or scale / softcap
  float most;   // log2(e) softcap; 0: none

  __device__ explicit ScoreRule(const AttentionShape& shape)
      : factor(shape.softcap > 0 ? shape.scale / shape.softcap
                                 : shape.scale * log2OfE),
        most(shape.softcap * log2OfE) {}

  __device__ bool isCapped() const { return most > 0; }
  __device__ float score(float product) const {
    return isCapped() ? score<true>(product) : score<false>(product);
  }
  /// Of a score that `score` has given.
  __device__ float slope(float score) const {
    return isCapped() ? slope<true>(score) : slope<false>(score);
  }

  // The same where it is known whether scores are capped: what goes over many
  // of them asks once, or each would be a branch of its own.
  template <bool capped> __device__ float score(float product) const {
    if constexpr (capped)
      return most * boundedTangent(factor * product);
    return factor * product;
  }
  template <bool capped> __device__ float slope(float score) const {
    if constexpr (!capped)
      return 1.0f;
    const float t = score / most;
    return 1.0f - t * t;
  }
};

/// What a block of keys and those before it are to the softmax of all of them:
/// their outputs, each normalised, count by `before` and `own`.
struct Merge {
  float before, own, lse;

  __device__ Merge(float lseBefore, float lseOwn) {
    const float most = fmaxf(lseBefore, lseOwn);
    before = expf(lseBefore - most);
    own = expf(lseOwn - most);
    const float sum = before + own;
    before /= sum;
    own /= sum;
    lse = most + logf(sum);
  }
};

/// The sum, or the larger, over the four lanes that hold a row of a fragment.
__device__ inline float sumOfRow(float x) {
  x += __shfl_xor_sync(~0u, x, 1);
  return x + __shfl_xor_sync(~0u, x, 2);
}
__device__ inline float largestOfRow(float x) {
  x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
  return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_ATTENTIONSHAPE_CUH
