// The source of the values to quantize on a GPU, its maximum, and the rounding
// of a value to fp8. The values are in memory, or a function computes them
// element by element, for one or several matrices. Computed values are not
// stored; each read computes them again.

#ifndef RECIPERUN_KERNELS_QUANTIZE_QUANTIZESOURCE_CUH
#define RECIPERUN_KERNELS_QUANTIZE_QUANTIZESOURCE_CUH

#include "runtime/device/Float8.h"
#include "runtime/kernels/common/BlockSums.cuh"
#include "runtime/kernels/common/Elementwise.cuh"
#include "runtime/kernels/quantize/Quantize.h"

#include <type_traits>
#include <utility>

#include <cuda_fp8.h>

namespace reciperun::kernels::narrow {

inline constexpr int side = int(blockWidth); // of a tile
// Launch bounds of the kernels that process all elements linearly. They launch
// exactly as many blocks as a GPU can hold.
inline constexpr int mostThreads = 512, blocksAtOnce = 2;

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

/// Whether the two layouts have different blocks, and therefore different
/// values.
constexpr bool differInLayouts(Blocks blocks) {
  return blocks == Blocks::rows || blocks == Blocks::mx;
}

/// Elements as floats.
template <class T, int n>
__device__ void widen(const Vector<T, n>& from, float (&to)[n]) {
  if constexpr (sizeof(T) == 2 && n % 2 == 0) {
    // The upper half of a word is a float once the lower half is masked off.
    const auto* const words = reinterpret_cast<const uint32_t*>(from.elements);
#pragma unroll
    for (int i = 0; i < n; i += 2) {
      to[i] = __uint_as_float(words[i / 2] << 16);
      to[i + 1] = __uint_as_float(words[i / 2] & 0xffff0000u);
    }
  } else {
#pragma unroll
    for (int i = 0; i < n; ++i)
      to[i] = from[i];
  }
}

// ---- sources of values

/// The function that returns stored values unchanged.
struct Itself {};

/// Maps the values of T at one index of the inputs to the values of each output
/// matrix at this index, rounded to T.
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
      float values[inputs][n], made[outputs][n];
#pragma unroll
      for (int i = 0; i < inputs; ++i)
        widen(in[i], values[i]);
#pragma unroll
      for (int e = 0; e < n; ++e)
        makeOne<n>(values, e, made, std::make_index_sequence<inputs>());
#pragma unroll
      for (int o = 0; o < outputs; ++o)
        out[o] = rounded<T, n>(made[o]);
    }
  }

private:
  template <int n, size_t... i>
  __device__ void makeOne(const float (&in)[inputs][n], int e,
                          float (&made)[outputs][n],
                          std::index_sequence<i...>) const {
    const auto results = map::results(function(in[i][e]...));
#pragma unroll
    for (int o = 0; o < outputs; ++o)
      made[o][e] = results.values[o];
  }
};

// ---- quantized matrices

struct Matrix {
  uint8_t *q, *qt;
  float *scale, *qtScale;
  uint8_t *mxScale, *mxQtScale; // instead of both, for `mx`
  int64_t rows, columns;
  int64_t stride, qtStride; // of rows of scales
  // For one scale of the whole matrix: the maxima that determine it, and the
  // buffer for the maxima of the parts that the thread blocks quantize.
  const float *history, *maxima;
  int amaxHistoryLength, maximaCount;
  float* partMaxima;

  __device__ int64_t tilesDown() const { return (rows + side - 1) / side; }
  __device__ int64_t tilesAcross() const { return (columns + side - 1) / side; }
};

/// The matrices quantized from one source.
template <int count> struct Matrices { Matrix of[count]; };

template <class F> __device__ float scaleOf(float most) {
  const float scale = __fdiv_rn(most, F::largest);
  return scale < leastScale ? 1.0f : scale;
}

/// The maximum over all threads of a block of up to 1024. A following call must
/// not use the same `room` before a __syncthreads().
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

/// The scale of the whole matrix. One thread of the grid stores it. All threads
/// of all blocks must call it.
template <class F>
__device__ float scaleOfAll(const Matrix& m, float (*room)[32]) {
  float most = 0;
  if (m.history)
    most = mostOf(m.history, m.amaxHistoryLength, room[0]);
  if (!(most > 0))
    most = mostOf(m.maxima, m.maximaCount, room[1]);
  const float scale = scaleOf<F>(most);
  if (blockIdx.x == 0 && threadIdx.x == 0)
    *m.scale = scale;
  return scale;
}

/// The inverse scales of all matrices.
template <class F, int count>
__device__ void findFactors(const Matrices<count>& matrices, float (*room)[32],
                            float (&factors)[count]) {
#pragma unroll
  for (int o = 0; o < count; ++o) {
    if (o > 0)
      __syncthreads(); // the room is used again
    factors[o] = __frcp_rn(scaleOfAll<F>(matrices.of[o], room));
  }
}

template <class F>
__device__ uint32_t fourBytes(float a, float b, float c, float d) {
  const uint32_t low =
      __nv_cvt_float2_to_fp8x2(make_float2(a, b), __NV_SATFINITE, F::kind);
  const uint32_t high =
      __nv_cvt_float2_to_fp8x2(make_float2(c, d), __NV_SATFINITE, F::kind);
  return low | high << 16;
}

// ---- the largest element

/// The largest magnitude of vectors. NaNs are ignored.
template <class T> class Most {
public:
  template <int n> __device__ void see(const Vector<T, n>& values) {
#pragma unroll
    for (int i = 0; i < n; ++i)
      most = fmaxf(most, fabsf(values[i]));
  }
  __device__ float value() const {
    return most;
  }

private:
  float most = 0;
};

/// One instruction compares two numbers.
template <> class Most<bfloat16> {
public:
  template <int n> __device__ void see(const Vector<bfloat16, n>& values) {
#pragma unroll
    for (int i = 0; i < n; i += 2) {
      const bfloat16 first = values.elements[i],
                     second = values.elements[i + (n > 1)];
      most = __hmax2(most, __habs2(__halves2bfloat162(first, second)));
    }
  }
  __device__ float value() const {
    return fmaxf(__low2float(most), __high2float(most));
  }

private:
  __nv_bfloat162 most = __float2bfloat162_rn(0);
};

/// The number of vectors of each input that a thread has in flight.
template <class S> inline constexpr int loadsAtOnce = S::inputs == 1 ? 4 : 2;

/// Runs from the end to the beginning: the kernel that wrote x has left its end
/// in the cache, and the next kernel starts where this one ends. fmaxf ignores
/// NaN. The maxima of a matrix are at `blocks` entries after the maxima of the
/// matrix before.
template <class S, int n>
__global__ void __launch_bounds__(mostThreads, blocksAtOnce)
    findMost(const __grid_constant__ S source, int64_t count,
             const __grid_constant__ Matrices<S::outputs> matrices,
             float* maxima) {
  using T = typename S::Element;
  constexpr int together = loadsAtOnce<S>;
  __shared__ float room[2 * S::outputs][32];
  bool isKnown = true; // scaleOfAll makes the same check
#pragma unroll
  for (int o = 0; o < S::outputs; ++o) {
    const Matrix& m = matrices.of[o];
    isKnown = isKnown && m.history &&
              mostOf(m.history, m.amaxHistoryLength, room[o]) > 0;
  }
  if (isKnown)
    return;
  const int64_t first = int64_t(blockIdx.x) * blockDim.x + threadIdx.x,
                step = int64_t(gridDim.x) * blockDim.x;
  Most<T> most[S::outputs];
  auto see = [&](const auto& in) {
    constexpr int width = sizeof(in[0]) / sizeof(T);
    Vector<T, width> made[S::outputs];
    source.template make<width>(in, made);
#pragma unroll
    for (int o = 0; o < S::outputs; ++o)
      most[o].see(made[o]);
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
    const float largest = mostOfBlock(most[o].value(), room[S::outputs + o]);
    if (threadIdx.x == 0)
      maxima[int64_t(o) * gridDim.x + blockIdx.x] = largest;
  }
}

/// T is float. It is a template so that several files can include it.
template <class T>
__global__ void moveAmaxHistory(T* history, int length, const float* maxima,
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

#endif // RECIPERUN_KERNELS_QUANTIZE_QUANTIZESOURCE_CUH
