// y = w x / sqrt(mean(x^2) + eps) and its gradients on a GPU; see RmsNorm.cpp.
//
// The forward reads a row once, into registers. In the backward a block
// processes many rows, prefetches the next row, and accumulates the weight
// gradients of its columns in registers.

#include "runtime/kernels/norm/NormLaunch.cuh"
#include "runtime/ops/NormOps.h"

namespace reciperun::kernels {
namespace {

template <class T, int vectors, int mostThreads, bool whole, class Rows>
__global__ void __launch_bounds__(mostThreads, residentBlocks(mostThreads))
    forward(const __grid_constant__ NormForward<T> a) {
  using Part = RowPart<T, vectors, whole>;
  __shared__ float room[2][32];
  const int width = a.x.width;
  startOverlapped();
  const int64_t step = int64_t(gridDim.x) * blockDim.y;
  int64_t row = int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
  Rows rows(a.x, row);
  const WeightPart<T, vectors, whole> weight(a.weight, width);
  int turn = 0;
  // All threads of a block run the same number of iterations.
  for (int64_t first = int64_t(blockIdx.x) * blockDim.y; first < a.x.rows;
       first += step, row += step) {
    Part x[1];
    rows.take(row, step, x);
    float squares[1] = {0};
#pragma unroll
    for (int v = 0; v < vectors; ++v)
#pragma unroll
      for (int e = 0; e < Part::n; ++e)
        squares[0] += x[0].parts[v][e] * x[0].parts[v][e];
    sumAcrossRow(squares, room[turn]);
    turn ^= 1;
    rows.release(row, step);
    if (row >= a.x.rows)
      continue;
    const float rstd = 1.0f / sqrtf(squares[0] / float(width) + a.eps);
    if (threadIdx.x == 0)
      a.rstd[a.x.place(row)] = rstd;
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      float y[Part::n];
#pragma unroll
      for (int e = 0; e < Part::n; ++e)
        y[e] = x[0].parts[v][e] * rstd * weight(v, e);
      Part::store(a.y + a.x.place(row) * width, width, v, y);
    }
  }
}

template <class T, int vectors, int mostThreads, bool whole, class Rows>
__global__ void __launch_bounds__(mostThreads,
                                  Rows::isRing&& vectors == 1 ? 2 : 1)
    backward(const __grid_constant__ NormBackward<T> a) {
  using Part = RowPart<T, vectors, whole>;
  __shared__ float room[2][32];
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
    const float rstd = isInside ? a.rstd[a.of.place(row)] : 0;
    float product[1] = {0};
#pragma unroll
    for (int v = 0; v < vectors; ++v)
#pragma unroll
      for (int e = 0; e < Part::n; ++e) {
        const float both = slope.parts[v][e] * input.parts[v][e];
        product[0] += weight(v, e) * both;
        dw[v][e] += both * rstd;
      }
    sumAcrossRow(product, room[turn]);
    turn ^= 1;
    rows.release(row, step);
    const float pull = product[0] * rstd * rstd * rstd / float(a.of.width);
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      float dx[Part::n];
#pragma unroll
      for (int e = 0; e < Part::n; ++e)
        dx[e] = before.parts[v][e] + (rstd * weight(v, e) * slope.parts[v][e] -
                                      input.parts[v][e] * pull);
      Part::store(a.dx + a.of.place(row) * a.of.width,
                  isInside ? a.of.width : 0, v, dx);
    }
  }
  if (a.partial)
    storeBlockSums<Part>(dw, reinterpret_cast<float*>(rowRoom()), a.of.width,
                         a.partial + a.of.place(blockIdx.x) * a.of.width);
}

struct Kernels {
  using Attributes = ops::RmsNormAttributes;
  using BackwardAttributes = ops::RmsNormBackwardAttributes;
  static constexpr bool keepsMean = false;

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

Status rmsnormCudaKernel(const device::CudaKernelArgs& args) {
  return runNormForward<Kernels>(args);
}

Status rmsnormBackwardCudaKernel(const device::CudaKernelArgs& args) {
  return runNormBackward<Kernels>(args);
}

} // namespace reciperun::kernels
