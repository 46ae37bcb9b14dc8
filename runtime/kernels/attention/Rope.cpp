// Rotary position embedding (Su et al. 2021, eq. 34) in the layout of Hugging
// Face: element i is paired with element i + d/2, and the pair is rotated by
// the angle position * frequency(i). Interleaved, 2i is paired with 2i + 1. d
// is the width of a head or of its rotated first part. The remaining elements
// are unchanged.
//
// RopeFrequencies.cpp has the frequencies. The inverse rotates by the negative
// angle. It is the transpose and therefore the backward.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/attention/RopeFrequencies.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/common/Types.h"
#include "runtime/ops/AttentionOps.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::Tensor;

/// Rotates pairs of neighbours. `y` may be `x`.
template <class T>
void turnNeighbours(int64_t half, const Math<T>* cosines, const Math<T>* sines,
                    const T* x, T* y) {
  using M = Math<T>;
#pragma omp simd
  for (int64_t i = 0; i < half; ++i) {
    const M a = M(x[2 * i]), b = M(x[2 * i + 1]);
    y[2 * i] = T(a * cosines[i] - b * sines[i]);
    y[2 * i + 1] = T(b * cosines[i] + a * sines[i]);
  }
}

/// Rotates the pairs of one head's halves. `y` may be `x`.
template <class T>
void turn(int64_t half, const Math<T>* cosines, const Math<T>* sines,
          const T* x, T* y) {
  using M = Math<T>;
#pragma omp simd
  for (int64_t i = 0; i < half; ++i) {
    const M a = M(x[i]), b = M(x[half + i]);
    y[i] = T(a * cosines[i] - b * sines[i]);
    y[half + i] = T(b * cosines[i] + a * sines[i]);
  }
}

template <class T> void rope(const KernelArgs& args) {
  using M = Math<T>;
  const Tensor &x = args.inputs[0], &positions = args.inputs[1];
  const int64_t width = x.shape.back();
  const ops::RopeAttributes attributes(args.op.attributes);
  const int64_t part = attributes.rotated;
  const int64_t rotated = part > 0 ? part : width;
  const int64_t half = rotated / 2;
  const bool isInterleaved = attributes.interleaved;
  const int64_t tokens = positions.elements();
  const int64_t heads = x.elements() / tokens / width;
  const std::vector<double> frequency = ropeFrequencies(args.op, half);
  const M sign = attributes.inverse ? M(-1) : M(1);
  auto body = [&](int64_t begin, int64_t end) {
    std::vector<M> cosines(static_cast<size_t>(half)), sines(cosines);
    for (int64_t token = begin; token < end; ++token) {
      // Computed in M, like transformers does for float, to get the same
      // rounding.
      const M position = M(positions.as<int32_t>()[token]);
      for (size_t i = 0; i < size_t(half); ++i) {
        const M angle = position * M(frequency[i]);
        cosines[i] = std::cos(angle);
        sines[i] = sign * std::sin(angle);
      }
      for (int64_t head = 0; head < heads; ++head) {
        const int64_t at = (token * heads + head) * width;
        const T* from = x.as<T>() + at;
        T* to = args.outputs[0].as<T>() + at;
        if (isInterleaved)
          turnNeighbours(half, cosines.data(), sines.data(), from, to);
        else
          turn(half, cosines.data(), sines.data(), from, to);
        if (to != from)
          std::copy(from + rotated, from + width, to + rotated);
      }
    }
  };
  device::parallelFor(args.context.threads(), tokens, 16, body);
}

} // namespace

Status ropeKernel(const KernelArgs& args) {
  return withType(args, args.inputs[0].type,
                  [&]<class T>(Type<T>) { rope<T>(args); });
}

} // namespace reciperun::kernels
