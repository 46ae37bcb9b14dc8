// y = w x / sqrt(mean(x^2) + eps) and its gradients on a GPU; see RmsNorm.cpp.
//
// Forward, a row is read once, into registers. Backward, a block goes through
// many rows, loads the next one while it works on one, and keeps the sums of
// its columns' weight gradients in registers.

#include "runtime/kernels/common/BlockSums.cuh"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/norm/NormLaunch.cuh"
#include "runtime/ops/NormOps.h"

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;

template <class T> struct Forward {
  RowOperands<T, 1> x;
  float eps;
  NormWeight<T> weight;
  T* y;
  float* rstd;
};

template <class T, int vectors, int mostThreads, bool whole, class Rows>
__global__ void __launch_bounds__(mostThreads, residentBlocks(mostThreads))
    forward(const __grid_constant__ Forward<T> a) {
  using Part = RowPart<T, vectors, whole>;
  __shared__ float room[2][32];
  const int width = a.x.width;
  const int64_t step = int64_t(gridDim.x) * blockDim.y;
  int64_t row = int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
  Rows rows(a.x, row);
  const WeightPart<T, vectors, whole> weight(a.weight, width);
  int turn = 0;
  // All threads of a block go round as often.
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

template <class T> struct Backward {
  RowOperands<T, 3> of; // dy, x, and dx where it is added to
  NormWeight<T> weight;
  const float* rstd;
  T* dx;
  float* partial; // [blocks, perToken, width], or null
};

template <class T, int vectors, int mostThreads, bool whole, class Rows>
__global__ void __launch_bounds__(mostThreads,
                                  Rows::isRing&& vectors == 1 ? 2 : 1)
    backward(const __grid_constant__ Backward<T> a) {
  using Part = RowPart<T, vectors, whole>;
  __shared__ float room[2][32];
  const WeightPart<T, vectors, whole> weight(a.weight, a.of.width);
  float dw[vectors][Part::n] = {};
  const int64_t step = int64_t(gridDim.x) * blockDim.y;
  int64_t row = int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
  Rows rows(a.of, row);
  int turn = 0;
  // All threads of a block go round as often.
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
  template <class T, int vectors, int mostThreads, bool whole, class Rows>
  static auto forward() {
    return kernels::forward<T, vectors, mostThreads, whole, Rows>;
  }
  template <class T, int vectors, int mostThreads, bool whole, class Rows>
  static auto backward() {
    return kernels::backward<T, vectors, mostThreads, whole, Rows>;
  }
};

template <class T> Status runForward(const CudaKernelArgs& args) {
  const Tensor &x = args.inputs[0], &w = args.inputs[1];
  const NormRows rows(x, w);
  return launchNorm<Kernels, T>(
      args, rows,
      Forward<T>{{{x.as<T>()}, rows.tokens, int(rows.width)},
                 float(ops::RmsNormAttributes(args.op.attributes).eps),
                 normWeight<T>(args, w),
                 args.outputs[0].as<T>(),
                 args.outputs[1].as<float>()});
}

template <class T> Status runBackward(const CudaKernelArgs& args) {
  const Tensor &dy = args.inputs[0], &x = args.inputs[1], &w = args.inputs[2],
               &dx = args.outputs[0], &dw = args.outputs[1];
  const NormRows rows(x, w);
  return launchNormBackward<Kernels, T>(
      args, rows,
      Backward<T>{{{dy.as<T>(), x.as<T>(), dx.as<T>()},
                   rows.tokens,
                   int(rows.width),
                   ops::RmsNormBackwardAttributes(args.op.attributes).accumulate
                       ? 3
                       : 2},
                  normWeight<T>(args, w),
                  args.inputs[3].as<float>(),
                  dx.as<T>(),
                  dw.present() ? args.context.scratch<float>() : nullptr});
}

} // namespace

Status rmsnormCudaKernel(const CudaKernelArgs& args) {
  return withDeviceType(args, args.inputs[0].type, [&]<class T>(DeviceType<T>) {
    return runForward<T>(args);
  });
}

Status rmsnormBackwardCudaKernel(const CudaKernelArgs& args) {
  return withDeviceType(args, args.inputs[0].type, [&]<class T>(DeviceType<T>) {
    return runBackward<T>(args);
  });
}

} // namespace reciperun::kernels
