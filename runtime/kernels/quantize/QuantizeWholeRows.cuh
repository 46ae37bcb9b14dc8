// Quantizes a matrix to fp8 with a scale for each row, without a transpose, on
// a GPU: the activations of a serving step, with a scale for each token. The
// source is in memory or computed by a function.
//
// A thread block makes a row: it finds the row's largest element, then rounds.
// Rows of usual lengths stay in registers in between; longer ones are read
// twice.

#ifndef RECIPERUN_KERNELS_QUANTIZE_QUANTIZEWHOLEROWS_CUH
#define RECIPERUN_KERNELS_QUANTIZE_QUANTIZEWHOLEROWS_CUH

#include "runtime/kernels/common/OverlappedLaunch.cuh"
#include "runtime/kernels/quantize/QuantizeLine.cuh"

#include <cstdint>

namespace reciperun::kernels::narrow {

inline constexpr int rowThreads = 256;

/// The scale of the block's row, which one thread stores.
template <class F> __device__ float rowScale(float most, const Matrix& m) {
  __shared__ float room[32];
  const float scale = scaleOf<F>(mostOfBlock(most, room));
  if (threadIdx.x == 0)
    m.scale[blockIdx.x] = scale;
  return scale;
}

/// Each thread keeps up to `kept` vectors of the row. Requires accesses of 16
/// bytes.
template <class S, class F, int kept>
__global__ void __launch_bounds__(rowThreads)
    quantizeKeptRow(const __grid_constant__ S source,
                    const __grid_constant__ Matrix m) {
  startOverlapped();
  using T = typename S::Element;
  constexpr int n = vectorLength<T>;
  const int64_t first = int64_t(blockIdx.x) * m.columns;
  const int vectors = int(m.columns / n);
  Vector<T, n> in[kept][S::inputs], made[kept][1];
  // A load beyond the end loads the last vector again, which does not change
  // the maximum.
#pragma unroll
  for (int k = 0; k < kept; ++k)
    source.template load<n>(
        first + min(int(threadIdx.x) + k * rowThreads, vectors - 1) * n, in[k]);
  Most<T> most;
#pragma unroll
  for (int k = 0; k < kept; ++k) {
    source.template make<n>(in[k], made[k]);
    most.see(made[k][0]);
  }
  const float factor = __frcp_rn(rowScale<F>(most.value(), m));
#pragma unroll
  for (int k = 0; k < kept; ++k)
    if (const int i = int(threadIdx.x) + k * rowThreads; i < vectors)
      writeBytes<F>(made[k][0], factor, m.q + first + i * n);
}

/// A row of any length, by vectors of n elements, which the row has a whole
/// number of.
template <class S, class F, int n>
__global__ void __launch_bounds__(rowThreads)
    quantizeLongRow(const __grid_constant__ S source,
                    const __grid_constant__ Matrix m) {
  startOverlapped();
  using T = typename S::Element;
  const int64_t first = int64_t(blockIdx.x) * m.columns;
  auto forVectors = [&](auto body) {
    for (int64_t i = threadIdx.x; i < m.columns / n; i += rowThreads) {
      Vector<T, n> in[S::inputs], made[1];
      source.template load<n>(first + i * n, in);
      source.template make<n>(in, made);
      body(made[0], first + i * n);
    }
  };
  Most<T> most;
  forVectors([&](const auto& values, int64_t) { most.see(values); });
  const float factor = __frcp_rn(rowScale<F>(most.value(), m));
  forVectors([&](const auto& values, int64_t at) {
    writeBytes<F>(values, factor, m.q + at);
  });
}

template <class F, class S>
void launchWholeRows(const device::CudaContext& context, const S& source,
                     const Matrix& m) {
  constexpr int n = vectorLength<typename S::Element>;
  const bool hasVectors =
      m.columns % n == 0 && areAligned(16, m.q) && isAligned(source);
  const int64_t kept = ceilDivide(m.columns, n * rowThreads);
  auto* const kernel = !hasVectors ? &quantizeLongRow<S, F, 1>
                       : kept <= 2 ? &quantizeKeptRow<S, F, 2>
                       : kept <= 4 ? &quantizeKeptRow<S, F, 4>
                       : kept <= 8 ? &quantizeKeptRow<S, F, 8>
                                   : &quantizeLongRow<S, F, n>;
  launchOverlapped(context, kernel, unsigned(m.rows), rowThreads, 0, source, m);
}

} // namespace reciperun::kernels::narrow

#endif // RECIPERUN_KERNELS_QUANTIZE_QUANTIZEWHOLEROWS_CUH
