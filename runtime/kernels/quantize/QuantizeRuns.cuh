// Quantizes a matrix to fp8 with a scale for each 128 elements of a row,
// without a transpose, on a GPU: the activations of a serving step. The source
// is in memory or computed by a function.
//
// The lanes that hold 128 elements find their maximum by shuffles. No thread
// waits for another one.

#ifndef RECIPERUN_KERNELS_QUANTIZE_QUANTIZERUNS_CUH
#define RECIPERUN_KERNELS_QUANTIZE_QUANTIZERUNS_CUH

#include "runtime/kernels/quantize/QuantizeLine.cuh"

namespace reciperun::kernels::narrow {

inline constexpr int runThreads = 256;

/// The vectors of a thread, `runThreads` apart.
template <class S> inline constexpr int vectorsOfThread = loadsAtOnce<S>;

/// Requires whole runs in a row, and accesses of 16 bytes.
template <class S, class F>
__global__ void __launch_bounds__(runThreads)
    quantizeRuns(const __grid_constant__ S source,
                 const __grid_constant__ Matrix m) {
  using T = typename S::Element;
  constexpr int n = vectorLength<T>, lanes = side / n;
  constexpr int together = vectorsOfThread<S>;
  const int64_t vectors = m.rows * m.columns / n;
  const int64_t first =
      int64_t(blockIdx.x) * (runThreads * together) + threadIdx.x;
  Vector<T, n> in[together][S::inputs];
#pragma unroll
  for (int k = 0; k < together; ++k)
    source.template load<n>(min(first + k * runThreads, vectors - 1) * n,
                            in[k]);
#pragma unroll
  for (int k = 0; k < together; ++k) {
    const int64_t at = (first + k * runThreads) * n;
    Vector<T, n> made[1];
    source.template make<n>(in[k], made);
    Most<T> most;
    most.see(made[0]);
    const float scale = scaleOf<F>(acrossLanes(most.value(), lanes, Larger()));
    if (at >= vectors * n)
      continue;
    writeBytes<F>(made[0], __frcp_rn(scale), m.q + at);
    if (threadIdx.x % lanes == 0)
      m.scale[at % m.columns / side * m.stride + at / m.columns] = scale;
  }
}

/// Whether quantizeRuns can quantize the matrix.
template <class S> bool isOfRuns(const S& source, const Matrix& m) {
  return m.q && !m.qt && m.columns % side == 0 && areAligned(16, m.q) &&
         isAligned(source);
}

template <class F, class S>
void launchRuns(const S& source, const Matrix& m, cudaStream_t stream) {
  constexpr int64_t ofBlock =
      runThreads * vectorsOfThread<S> * vectorLength<typename S::Element>;
  const auto blocks = unsigned(ceilDivide(m.rows * m.columns, ofBlock));
  quantizeRuns<S, F><<<blocks, runThreads, 0, stream>>>(source, m);
}

} // namespace reciperun::kernels::narrow

#endif // RECIPERUN_KERNELS_QUANTIZE_QUANTIZERUNS_CUH
