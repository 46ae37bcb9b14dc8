// s += scale * sum of x^2 on a GPU.
//
//   1. A fixed number of blocks sums pieces in f64. This is free, because the
//      kernel is bound by the memory bandwidth.
//   2. One block adds the pieces in a fixed order.

#include "runtime/kernels/common/BlockSums.cuh"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/CudaTypes.cuh"
#include "runtime/ops/OptimizerOps.h"

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;

constexpr int threads = 512, unroll = 4;

template <class T, int n>
__global__ void __launch_bounds__(threads)
    sumPieces(int64_t count, const T* x, double* partial) {
  __shared__ double room[32];
  const int64_t step = int64_t(gridDim.x) * threads, vectors = count / n;
  int64_t at = int64_t(blockIdx.x) * threads + threadIdx.x;
  double sum[1] = {0};
  auto add = [&](float value) { sum[0] += double(value) * double(value); };
  for (; at + (unroll - 1) * step < vectors; at += unroll * step) {
    Vector<T, n> parts[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u)
      parts[u] = Vector<T, n>::load(x + (at + u * step) * n);
#pragma unroll
    for (int u = 0; u < unroll; ++u)
#pragma unroll
      for (int e = 0; e < n; ++e)
        add(parts[u][e]);
  }
  for (; at < vectors; at += step) {
    const auto part = Vector<T, n>::load(x + at * n);
#pragma unroll
    for (int e = 0; e < n; ++e)
      add(part[e]);
  }
  // The remaining elements, fewer than a vector.
  if (blockIdx.x == 0 && threadIdx.x < count - vectors * n)
    add(float(x[vectors * n + threadIdx.x]));
  sumAcrossRow(sum, room);
  if (threadIdx.x == 0)
    partial[blockIdx.x] = sum[0];
}

__global__ void __launch_bounds__(threads)
    addPieces(int pieces, const double* partial, double scale, double* total) {
  __shared__ double room[32];
  double sum[1] = {0};
  for (int i = int(threadIdx.x); i < pieces; i += threads)
    sum[0] += partial[i];
  sumAcrossRow(sum, room);
  if (threadIdx.x == 0)
    *total += scale * sum[0];
}

} // namespace

Status sumSquaresCudaKernel(const CudaKernelArgs& args) {
  const Tensor& x = args.inputs[0];
  const int64_t count = x.elements();
  return withDeviceType(args, x.type, [&]<class T>(DeviceType<T>) {
    constexpr int n = vectorLength<T>;
    const int64_t pieces =
        std::clamp<int64_t>(ceilDivide(count, n * threads * unroll), 1,
                            int64_t(4) * args.context.multiprocessors());
    double* partial = args.context.scratch<double>();
    const cudaStream_t stream = args.context.stream();
    if (areAligned(16, x.data))
      sumPieces<T, n>
          <<<unsigned(pieces), threads, 0, stream>>>(count, x.as<T>(), partial);
    else
      sumPieces<T, 1>
          <<<unsigned(pieces), threads, 0, stream>>>(count, x.as<T>(), partial);
    addPieces<<<1, threads, 0, stream>>>(
        int(pieces), partial,
        ops::SumSquaresAttributes(args.op.attributes).scale,
        args.outputs[0].as<double>());
  });
}

} // namespace reciperun::kernels
