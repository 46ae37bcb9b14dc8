// Quantizes matrices to fp8, without transposes and with one scale each, on a
// GPU. The source is in memory or computed by a function.
//
//   1. findMost has found the largest elements, or an amax history supplies
//      them.
//   2. The thread blocks process all elements in steps of the whole grid, 16
//      bytes per access with several accesses in flight. They start where
//      findMost ended, so that the first elements are still in the cache.
//   3. With an amax history: the maximum over the thread blocks becomes its
//      first entry.

#ifndef RECIPERUN_KERNELS_QUANTIZE_QUANTIZELINE_CUH
#define RECIPERUN_KERNELS_QUANTIZE_QUANTIZELINE_CUH

#include "runtime/kernels/quantize/QuantizeSource.cuh"

#include <algorithm>

namespace reciperun::kernels::narrow {

/// Whether accesses of 16 bytes can read the source.
template <class S> bool isAligned(const S& source) {
  return std::ranges::all_of(source.x,
                             [](const auto* x) { return areAligned(16, x); });
}

/// Multiplies n elements by the factor and rounds them.
template <class F, class T, int n>
__device__ void writeBytes(const Vector<T, n>& from, float factor,
                           uint8_t* to) {
  if constexpr (n % 4 == 0) {
    float of[n];
    widen(from, of);
    Vector<uint32_t, n / 4> words;
#pragma unroll
    for (int i = 0; i < n; i += 4)
      words.elements[i / 4] =
          fourBytes<F>(of[i] * factor, of[i + 1] * factor, of[i + 2] * factor,
                       of[i + 3] * factor);
    words.store(reinterpret_cast<uint32_t*>(to));
  } else {
#pragma unroll
    for (int i = 0; i < n; ++i)
      to[i] = __nv_cvt_float_to_fp8(from[i] * factor, __NV_SATFINITE, F::kind);
  }
}

/// Requires at least n elements. Loads beyond the last vector load the last
/// vector again, because a conditional load would cost registers.
template <class S, class F, int n>
__global__ void __launch_bounds__(mostThreads, blocksAtOnce)
    quantizeLine(const __grid_constant__ S source, int64_t count,
                 const __grid_constant__ Matrices<S::outputs> matrices) {
  using T = typename S::Element;
  constexpr int together = loadsAtOnce<S>;
  __shared__ float room[3][32];
  const int64_t begin = int64_t(blockIdx.x) * blockDim.x,
                step = int64_t(gridDim.x) * blockDim.x, vectors = count / n;
  float factors[S::outputs];
  Most<T> most[S::outputs];
  auto write = [&](const auto& in, int64_t at) {
    constexpr int width = sizeof(in[0]) / sizeof(T);
    Vector<T, width> made[S::outputs];
    source.template make<width>(in, made);
#pragma unroll
    for (int o = 0; o < S::outputs; ++o) {
      writeBytes<F>(made[o], factors[o], matrices.of[o].q + at);
      if (matrices.of[o].partMaxima)
        most[o].see(made[o]);
    }
  };
  int64_t first = begin;
  do {
    const int64_t own = first + threadIdx.x;
    Vector<T, n> in[together][S::inputs];
#pragma unroll
    for (int k = 0; k < together; ++k)
      source.template load<n>(min(own + k * step, vectors - 1) * n, in[k]);
    if (first == begin) // while the first loads are in flight
      findFactors<F>(matrices, room, factors);
#pragma unroll
    for (int k = 0; k < together; ++k)
      if (own + k * step < vectors)
        write(in[k], (own + k * step) * n);
    first += together * step;
  } while (first < vectors);
  for (int64_t i = vectors * n + begin + threadIdx.x; i < count; i += step) {
    Vector<T, 1> in[S::inputs];
    source.template load<1>(i, in);
    write(in, i);
  }
#pragma unroll
  for (int o = 0; o < S::outputs; ++o)
    if (matrices.of[o].partMaxima) {
      __syncthreads();
      const float largest = mostOfBlock(most[o].value(), room[2]);
      if (threadIdx.x == 0)
        matrices.of[o].partMaxima[blockIdx.x] = largest;
    }
}

} // namespace reciperun::kernels::narrow

#endif // RECIPERUN_KERNELS_QUANTIZE_QUANTIZELINE_CUH
