// The problem of attention's GPU kernels: sizes, the mask's rule and the tokens
// of both sides; and the offsets of heads' rows in memory.

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

  /// The offset of a head's row of a query or key in [b, queries, heads, width]
  /// or [b, keys, keyHeads, width].
  __device__ int64_t queryAt(int sequence, int head, int token) const {
    return ((int64_t(sequence) * queries.count + token) * heads + head) * width;
  }
  __device__ int64_t keyAt(int sequence, int keyHead, int token) const {
    return ((int64_t(sequence) * keys.count + token) * keyHeads + keyHead) *
           width;
  }
  /// The offset of a query in [b, heads, queries].
  __device__ int64_t rowAt(int sequence, int head, int token) const {
    return (int64_t(sequence) * heads + head) * queries.count + token;
  }
};

/// The running maximum of a query that has seen no key, and its lse between
/// blocks. Finite, so that the difference of two is never NaN.
inline constexpr float nothingSeenYet = -0x1.fffffep+126f;

inline constexpr float log2OfE = 1.44269504088896340736f;
inline constexpr float logOf2 = 0.69314718055994530942f;

/// 2^x by the special function unit, accurate to 2 units in the last place.
__device__ inline float powerOf2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// tanh with an absolute error of 1e-7.
__device__ inline float boundedTangent(float x) {
  return 1.0f - __fdividef(2.0f, powerOf2(2.0f * log2OfE * x) + 1.0f);
}

/// Scores in units of log 2: score(product) is log2(e) times the score. slope
/// is the derivative of the score by scale times the product.
struct ScoreRule {
  float factor; // multiplies the product: log2(e) scale, or scale / softcap
  float most;   // log2(e) softcap; 0: no softcap

  __device__ explicit ScoreRule(const AttentionShape& shape)
      : factor(shape.softcap > 0 ? shape.scale / shape.softcap
                                 : shape.scale * log2OfE),
        most(shape.softcap * log2OfE) {}

  __device__ bool isCapped() const { return most > 0; }
  __device__ float score(float product) const {
    return isCapped() ? score<true>(product) : score<false>(product);
  }
  /// The slope at a result of `score`.
  __device__ float slope(float score) const {
    return isCapped() ? slope<true>(score) : slope<false>(score);
  }

  // The same functions with the softcap known at compile time. A loop over many
  // scores then branches once instead of for each score.
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

/// Merges the softmax of a block of keys with that of the blocks before.
/// `before` and `own` are the weights of the two normalised outputs.
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

/// The sum or the maximum over the four lanes that hold a row of a fragment.
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
