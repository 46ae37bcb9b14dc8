// The rotation of a head's pairs by a position, on a GPU; see Rope.cpp.

#ifndef RECIPERUN_KERNELS_ATTENTION_ROTATION_CUH
#define RECIPERUN_KERNELS_ATTENTION_ROTATION_CUH

#include "runtime/base/Status.h"
#include "runtime/kernels/attention/RopeFrequencies.h"
#include "runtime/kernels/common/Vectors.cuh"
#include "runtime/ops/AttentionOps.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::kernels::cuda {

/// How a head's elements are rotated. A kernel takes it as an argument.
struct Rotation {
  static constexpr int mostPairs = 512;

  int width; // of a head
  int half;  // rotated pairs of a head
  bool isInterleaved;
  float sign;
  float frequencies[mostPairs];

  /// The offset in a head of the first of the two vectors of n pairs from
  /// `pair` on, and the distance of the second.
  __device__ int offsetOf(int pair) const {
    return isInterleaved ? 2 * pair : pair;
  }
  template <int n> __device__ int distance() const {
    return isInterleaved ? n : half;
  }

  /// The cosine and the sine of a pair's angle. Computed in float, like on the
  /// CPU and in transformers, to get the same rounding.
  __device__ void angleOf(int pair, float position, float& cosine,
                          float& sine) const {
    sincosf(position * frequencies[pair], &sine, &cosine);
    sine *= sign;
  }
};

/// Fills a rotation of heads of `width` elements by the attributes of an op
/// that has those of `rope`. Fails for more pairs than the kernels take.
inline Status readRotation(const plan::Op& op, int64_t width, Rotation& made) {
  const ops::RopeAttributes attributes(op.attributes);
  const int64_t part = attributes.rotated;
  const int64_t half = (part > 0 ? part : width) / 2;
  if (half > Rotation::mostPairs)
    return Status::error("it turns " + std::to_string(half) +
                         " pairs of a head, and on GPUs it turns at most " +
                         std::to_string(Rotation::mostPairs));
  made.width = int(width);
  made.half = int(half);
  made.isInterleaved = attributes.interleaved;
  made.sign = attributes.inverse ? -1.0f : 1.0f;
  std::ranges::transform(ropeFrequencies(op, half), made.frequencies,
                         [](double frequency) { return float(frequency); });
  return Status::ok();
}

/// Rotates the n pairs in two vectors.
template <class T, int n>
__device__ void turnPairs(const Rotation& by, const float (&cosines)[n],
                          const float (&sines)[n], const Vector<T, n> (&x)[2],
                          Vector<T, n> (&y)[2]) {
  float turned[2][n];
  if (by.isInterleaved) {
    if constexpr (n > 1) {
      // Interleaved pairs are consecutive elements across both vectors.
#pragma unroll
      for (int e = 0; e < 2 * n; e += 2) {
        const float a = x[e / n][e % n], b = x[e / n][e % n + 1];
        const float c = cosines[e / 2], s = sines[e / 2];
        turned[e / n][e % n] = a * c - b * s;
        turned[e / n][e % n + 1] = b * c + a * s;
      }
      y[0] = rounded<T, n>(turned[0]);
      y[1] = rounded<T, n>(turned[1]);
      return;
    }
  }
#pragma unroll
  for (int e = 0; e < n; ++e) {
    const float a = x[0][e], b = x[1][e];
    const float c = cosines[e], s = sines[e];
    turned[0][e] = a * c - b * s;
    turned[1][e] = b * c + a * s;
  }
  y[0] = rounded<T, n>(turned[0]);
  y[1] = rounded<T, n>(turned[1]);
}

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_ROTATION_CUH
