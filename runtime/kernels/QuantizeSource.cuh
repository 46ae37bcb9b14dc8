// What becomes 8 bits on a GPU, and its largest element: values that lie in
// memory, or that a function makes of them, element by element, in one or
// several matrices. What a function makes is not kept: it is made anew wherever
// it is read.

#ifndef RECIPERUN_KERNELS_QUANTIZESOURCE_CUH
#define RECIPERUN_KERNELS_QUANTIZESOURCE_CUH

#include "runtime/device/Float8.h"
#include "runtime/kernels/BlockSums.cuh"
#include "runtime/kernels/Elementwise.cuh"
#include "runtime/kernels/Quantize.h"

#include <type_traits>
#include <utility>

#include <cuda_fp8.h>

namespace reciperun::kernels::narrow {

inline constexpr int side = int(blockWidth); // of a tile
inline constexpr int mostThreads = 512;

struct E4m3 {
  static constexpr __nv_fp8_interpretation_t kind = __NV_E4M3;
  static constexpr float largest = 448;
  static constexpr int exponent = device::f8e4m3::largestExponent;
};
struct E5m2 {
  static constexpr __nv_fp8_interpretation_t kind = __NV_E5M2;
  static constexpr float largest = 57344;
  static constexpr int exponent = device::f8e5m2::largestExponent;
};

/// Whether the two layouts have other blocks, and so other numbers.
constexpr bool differInLayouts(Blocks blocks) {
  return blocks == Blocks::rows || blocks == Blocks::mx;
}

// ---- what becomes 8 bits

/// Values as they lie.
struct Itself {};

/// Of values of T at one place those of as many matrices at that place, which
/// are rounded to T.
template <class T, int inputCount, class Function = Itself, int outputCount = 1>
struct Source {
  using Element = T;
  static constexpr int inputs = inputCount, outputs = outputCount;
  const T* x[inputs];
  Function function;

  template <int n> using In = Vector<T, n>[inputs];
  template <int n> using Out = Vector<T, n>[outputs];

  template <int n> __device__ void load(int64_t at, In<n>& in) const {
#pragma unroll
    for (int i = 0; i < inputs; ++i)
      in[i] = Vector<T, n>::load(x[i] + at);
  }

  template <int n> __device__ void make(const In<n>& in, Out<n>& out) const {
    if constexpr (std::is_same_v<Function, Itself>) {
      out[0] = in[0];
    } else {
      float made[outputs][n];
#pragma unroll
      for (int e = 0; e < n; ++e)
        makeOne<n>(in, e, made, std::make_index_sequence<inputs>());
#pragma unroll
      for (int o = 0; o < outputs; ++o)
        out[o] = rounded<T, n>(made[o]);
    }
  }

private:
  template <int n, size_t... i>
  __device__ void makeOne(const In<n>& in, int e, float (&made)[outputs][n],
                          std::index_sequence<i...>) const {
    const auto values = map::results(function(in[i][e]...));
#pragma unroll
    for (int o = 0; o < outputs; ++o)
      made[o][e] = values.values[o];
  }
};

// ---- what is made of it

struct Matrix {
  uint8_t *q, *qt;
  float *scale, *qtScale;
  uint8_t *mxScale, *mxQtScale; // in their place, for `mx`
  int64_t rows, columns;
  int64_t stride, qtStride; // of rows of scales
  // Of a scale for all of it: maxima that tell it, and where those of tiles go.
  const float *history, *maxima;
  int historyLength, maximaCount;
  float* tileMaxima;

  __device__ int64_t tilesDown() const { return (rows + side - 1) / side; }
  __device__ int64_t tilesAcross() const { return (columns + side - 1) / side; }
};

template <class F> __device__ float scaleOf(float most) {
  const float scale = __fdiv_rn(most, F::largest);
  return scale < leastScale ? 1.0f : scale;
}

/// Of all threads of a block of up to 1024; `room` is not used again by a call
/// that follows before all threads have met.
__device__ inline float mostOfBlock(float value, float* room) {
  value = acrossLanes(value, 32, Larger());
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  if (lane == 0)
    room[warp] = value;
  __syncthreads();
  return acrossLanes(lane < int(blockDim.x) / 32 ? room[lane] : 0.0f, 32,
                     Larger());
}

__device__ inline float mostOf(const float* values, int count, float* room) {
  float most = 0;
  for (int i = int(threadIdx.x); i < count; i += int(blockDim.x))
    most = fmaxf(most, values[i]);
  return mostOfBlock(most, room);
}

// ---- the largest element

/// The matrices that a source gives.
template <int count> struct Matrices { Matrix of[count]; };

/// How many vectors of each input a thread has on their way at a time.
template <class S> inline constexpr int loadsAtOnce = S::inputs == 1 ? 4 : 2;

/// From the end to the beginning: who made x has left its end in the cache, and
/// who reads it next begins where this ends. fmaxf gives the number where the
/// other is none. The maxima of a matrix are `blocks` numbers behind those of
/// the one before.
template <class S, int n>
__global__ void __launch_bounds__(mostThreads)
    findMost(const __grid_constant__ S source, int64_t count,
             const __grid_constant__ Matrices<S::outputs> matrices,
             float* maxima) {
  using T = typename S::Element;
  constexpr int together = loadsAtOnce<S>;
  __shared__ float room[2 * S::outputs][32];
  bool isKnown = true; // who reads the maxima knows better
#pragma unroll
  for (int o = 0; o < S::outputs; ++o) {
    const Matrix& m = matrices.of[o];
    isKnown =
        isKnown && m.history && mostOf(m.history, m.historyLength, room[o]) > 0;
  }
  if (isKnown)
    return;
  const int64_t first = int64_t(blockIdx.x) * blockDim.x + threadIdx.x,
                step = int64_t(gridDim.x) * blockDim.x;
  float most[S::outputs] = {};
  auto see = [&](const auto& in) {
    constexpr int width = sizeof(in[0]) / sizeof(T);
    Vector<T, width> made[S::outputs];
    source.template make<width>(in, made);
#pragma unroll
    for (int o = 0; o < S::outputs; ++o)
#pragma unroll
      for (int j = 0; j < width; ++j)
        most[o] = fmaxf(most[o], fabsf(made[o][j]));
  };
  const int64_t last = count / n - 1;
  for (int64_t i = first; i <= last; i += together * step) {
    Vector<T, n> in[together][S::inputs];
#pragma unroll
    for (int k = 0; k < together; ++k)
      source.template load<n>(max(last - i - k * step, int64_t(0)) * n, in[k]);
#pragma unroll
    for (int k = 0; k < together; ++k)
      see(in[k]);
  }
  for (int64_t i = count / n * n + first; i < count; i += step) {
    Vector<T, 1> in[S::inputs];
    source.template load<1>(i, in);
    see(in);
  }
#pragma unroll
  for (int o = 0; o < S::outputs; ++o) {
    most[o] = mostOfBlock(most[o], room[S::outputs + o]);
    if (threadIdx.x == 0)
      maxima[int64_t(o) * gridDim.x + blockIdx.x] = most[o];
  }
}

/// T is float: a template, so that several files may have it.
template <class T>
__global__ void moveHistory(T* history, int length, const float* maxima,
                            int count) {
  __shared__ float room[32];
  const float most = mostOf(maxima, count, room);
  if (threadIdx.x != 0)
    return;
  for (int i = length - 1; i > 0; --i)
    history[i] = history[i - 1];
  history[0] = most;
}

} // namespace reciperun::kernels::narrow

#endif // RECIPERUN_KERNELS_QUANTIZESOURCE_CUH
