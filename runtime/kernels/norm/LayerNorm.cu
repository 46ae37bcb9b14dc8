// y = w (x - m) r and its gradients on a GPU; see LayerNorm.cpp for the
// formulas and RmsNorm.cu for the loading of rows.

#include "runtime/kernels/norm/NormLaunch.cuh"
#include "runtime/ops/NormOps.h"

namespace reciperun::kernels {
namespace {

template <class T, int vectors, int mostThreads, bool whole, class Rows>
__global__ void __launch_bounds__(mostThreads, residentBlocks(mostThreads))
    forward(const __grid_constant__ NormForward<T> a) {
  using Part = RowPart<T, vectors, whole>;
  __shared__ float room[2][32];
  startOverlapped();
  const int64_t step = int64_t(gridDim.x) * blockDim.y;
  int64_t row = int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
  Rows rows(a.x, row);
  const WeightPart<T, vectors, whole> weight(a.weight, a.x.width);
  // All threads of a block run the same number of iterations.
  for (int64_t first = int64_t(blockIdx.x) * blockDim.y; first < a.x.rows;
       first += step, row += step) {
    const int width = row < a.x.rows ? a.x.width : 0;
    Part x[1];
    rows.take(row, step, x);
    float sum[1] = {0}, squares[1] = {0};
#pragma unroll
    for (int v = 0; v < vectors; ++v)
#pragma unroll
      for (int e = 0; e < Part::n; ++e)
        sum[0] += x[0].parts[v][e];
    sumAcrossRow(sum, room[0]);
    rows.release(row, step);
    const float mean = sum[0] / float(a.x.width);
    // Squares of the differences from the mean lose no digits to cancellation.
#pragma unroll
    for (int v = 0; v < vectors; ++v)
#pragma unroll
      for (int e = 0; e < Part::n; ++e) {
        const float left = x[0].parts[v][e] - mean;
        squares[0] += Part::column(v) + e < width ? left * left : 0;
      }
    sumAcrossRow(squares, room[1]);
    const float rstd = 1.0f / sqrtf(squares[0] / float(a.x.width) + a.eps);
    if (threadIdx.x == 0 && row < a.x.rows) {
      a.mean[a.x.place(row)] = mean;
      a.rstd[a.x.place(row)] = rstd;
    }
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      float y[Part::n];
#pragma unroll
      for (int e = 0; e < Part::n; ++e)
        y[e] = (x[0].parts[v][e] - mean) * rstd * weight(v, e);
      Part::store(a.y + a.x.place(row) * a.x.width, width, v, y);
    }
  }
}

template <class T, int vectors, int mostThreads, bool whole, class Rows>
__global__ void __launch_bounds__(mostThreads,
                                  Rows::isRing&& vectors == 1 ? 2 : 1)
    backward(const __grid_constant__ NormBackward<T> a) {
  using Part = RowPart<T, vectors, whole>;
  __shared__ float room[2][64];
  startOverlapped();
  const WeightPart<T, vectors, whole> weight(a.weight, a.of.width);
  float dw[vectors][Part::n] = {};
  const int64_t step = int64_t(gridDim.x) * blockDim.y;
  int64_t row = int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
  Rows rows(a.of, row);
  int turn = 0;
  // All threads of a block run the same number of iterations.
  for (int64_t first = int64_t(blockIdx.x) * blockDim.y; first < a.of.rows;
       first += step, row += step) {
    Part parts[3];
    rows.take(row, step, parts);
    const Part &slope = parts[0], &input = parts[1], &before = parts[2];
    const bool isInside = row < a.of.rows;
    const float mean = isInside ? a.mean[a.of.place(row)] : 0;
    const float rstd = isInside ? a.rstd[a.of.place(row)] : 0;
    // dy is 0 beyond the row's end, so all terms are 0 there.
    float sums[2] = {0, 0};
#pragma unroll
    for (int v = 0; v < vectors; ++v)
#pragma unroll
      for (int e = 0; e < Part::n; ++e) {
        const float normed = (input.parts[v][e] - mean) * rstd;
        const float pulled = weight(v, e) * slope.parts[v][e];
        sums[0] += pulled;
        sums[1] += pulled * normed;
        dw[v][e] += slope.parts[v][e] * normed;
      }
    sumAcrossRow(sums, room[turn]);
    turn ^= 1;
    rows.release(row, step);
    const float level = sums[0] / float(a.of.width);
    const float tilt = sums[1] / float(a.of.width);
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      float dx[Part::n];
#pragma unroll
      for (int e = 0; e < Part::n; ++e) {
        const float normed = (input.parts[v][e] - mean) * rstd;
        dx[e] = before.parts[v][e] + rstd * (weight(v, e) * slope.parts[v][e] -
                                             level - normed * tilt);
      }
      Part::store(a.dx + a.of.place(row) * a.of.width,
                  isInside ? a.of.width : 0, v, dx);
    }
  }
  if (a.partial)
    storeBlockSums<Part>(dw, reinterpret_cast<float*>(rowRoom()), a.of.width,
                         a.partial + a.of.place(blockIdx.x) * a.of.width);
}

struct Kernels {
  using Attributes = ops::LayerNormAttributes;
  using BackwardAttributes = ops::LayerNormBackwardAttributes;
  static constexpr bool keepsMean = true;

  template <class T, int vectors, int mostThreads, bool whole, class Rows>
  static auto forward() {
    return kernels::forward<T, vectors, mostThreads, whole, Rows>;
  }
  template <class T, int vectors, int mostThreads, bool whole, class Rows>
  static auto backward() {
    return kernels::backward<T, vectors, mostThreads, whole, Rows>;
  }
};

} // namespace

Status layernormCudaKernel(const device::CudaKernelArgs& args) {
  return runNormForward<Kernels>(args);
}

Status layernormBackwardCudaKernel(const device::CudaKernelArgs& args) {
  return runNormBackward<Kernels>(args);
}

} // namespace reciperun::kernels
