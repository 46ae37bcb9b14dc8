// The rotation of a head's pairs by a position, on a CPU; see Rope.cpp.

#ifndef RECIPERUN_KERNELS_ATTENTION_HEADROTATION_H
#define RECIPERUN_KERNELS_ATTENTION_HEADROTATION_H

#include "runtime/kernels/attention/RopeFrequencies.h"
#include "runtime/kernels/common/Types.h"
#include "runtime/ops/AttentionOps.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace reciperun::kernels {

/// Rotates heads of `width` elements of T by one position at a time. A thread
/// has its own.
template <class T> class HeadRotation {
  using M = Math<T>;

public:
  /// `op` has the attributes of `rope`.
  HeadRotation(const plan::Op& op, int64_t width)
      : HeadRotation(op, ops::RopeAttributes(op.attributes), width) {}

  void setPosition(int32_t position) {
    for (size_t i = 0; i < cosines.size(); ++i) {
      // Computed in M, like transformers does for float, to get the same
      // rounding.
      const M angle = M(position) * M(frequencies[i]);
      cosines[i] = std::cos(angle);
      sines[i] = sign * std::sin(angle);
    }
  }

  /// Rotates `heads` heads. `to` may be `from`.
  void turn(int64_t heads, const T* from, T* to) const {
    for (int64_t head = 0; head < heads; ++head, from += width, to += width) {
      if (isInterleaved)
        turnNeighbours(from, to);
      else
        turnHalves(from, to);
      if (to != from)
        std::copy(from + 2 * half(), from + width, to + 2 * half());
    }
  }

private:
  HeadRotation(const plan::Op& op, const ops::RopeAttributes& attributes,
               int64_t width)
      : width(width), isInterleaved(attributes.interleaved),
        sign(attributes.inverse ? M(-1) : M(1)),
        frequencies(ropeFrequencies(
            op, (attributes.rotated > 0 ? attributes.rotated : width) / 2)),
        cosines(frequencies.size()), sines(frequencies.size()) {}

  int64_t half() const { return int64_t(frequencies.size()); }

  void turnNeighbours(const T* x, T* y) const {
    const M *c = cosines.data(), *s = sines.data();
    const int64_t count = half();
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      const M a = M(x[2 * i]), b = M(x[2 * i + 1]);
      y[2 * i] = T(a * c[i] - b * s[i]);
      y[2 * i + 1] = T(b * c[i] + a * s[i]);
    }
  }

  void turnHalves(const T* x, T* y) const {
    const M *c = cosines.data(), *s = sines.data();
    const int64_t count = half();
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      const M a = M(x[i]), b = M(x[count + i]);
      y[i] = T(a * c[i] - b * s[i]);
      y[count + i] = T(b * c[i] + a * s[i]);
    }
  }

  int64_t width;
  bool isInterleaved;
  M sign;
  std::vector<double> frequencies;
  std::vector<M> cosines, sines;
};

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_ATTENTION_HEADROTATION_H
