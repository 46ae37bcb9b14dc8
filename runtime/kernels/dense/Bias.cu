// y = x + b for each token, on a GPU. The gradient of b is the sum of dy over
// the tokens: first over pieces of the rows, then over the pieces
// (RowSums.cuh).

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/RowSums.cuh"
#include "runtime/kernels/common/RowTiles.cuh"

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;

constexpr int rowsPerThread = 4;

template <class T, int n>
__global__ void __launch_bounds__(RowTiles::blockThreads)
    addBias(RowTiles tiles, const T* x, const T* b, T* y) {
  const int64_t width = tiles.columns * n, at = tiles.column() * n;
  if (at >= width)
    return;
  Vector<T, n> parts[rowsPerThread];
#pragma unroll
  for (int u = 0; u < rowsPerThread; ++u)
    if (tiles.row(u) < tiles.rows)
      parts[u] = Vector<T, n>::load(x + tiles.row(u) * width + at);
  const auto bias = Vector<T, n>::load(b + at);
#pragma unroll
  for (int u = 0; u < rowsPerThread; ++u) {
    if (tiles.row(u) >= tiles.rows)
      return;
    float values[n];
#pragma unroll
    for (int e = 0; e < n; ++e)
      values[e] = parts[u][e] + bias[e];
    rounded<T, n>(values).store(y + tiles.row(u) * width + at);
  }
}

template <class T, int n>
void launchAdd(const CudaKernelArgs& args, int64_t width) {
  const Tensor &x = args.inputs[0], &b = args.inputs[1], &y = args.outputs[0];
  const RowTiles tiles(x.elements() / width, width / n, rowsPerThread);
  addBias<T, n><<<tiles.blocks(), tiles.threads(), 0, args.context.stream()>>>(
      tiles, x.as<T>(), b.as<T>(), y.as<T>());
}

constexpr int lanes = 32, warps = 8;

/// Block (piece, c) sums the piece's rows over the columns of chunk c. Each
/// warp sums every eighth row, then the block adds the sums of all warps.
template <class T, int n>
__global__ void __launch_bounds__(lanes* warps)
    sumRows(int64_t rows, int64_t width, const T* dy, float* partial) {
  __shared__ float sums[warps][lanes * n];
  const int64_t first = int64_t(blockIdx.y) * (lanes * n);
  const int64_t at = first + threadIdx.x * n;
  const int64_t begin = rows * blockIdx.x / gridDim.x;
  const int64_t end = rows * (blockIdx.x + 1) / gridDim.x;
  float sum[n] = {};
  if (at < width) {
#pragma unroll 4
    for (int64_t row = begin + threadIdx.y; row < end; row += warps) {
      const auto part = Vector<T, n>::load(dy + row * width + at);
#pragma unroll
      for (int e = 0; e < n; ++e)
        sum[e] += part[e];
    }
  }
#pragma unroll
  for (int e = 0; e < n; ++e)
    sums[threadIdx.y][threadIdx.x * n + e] = sum[e];
  __syncthreads();
  for (int j = int(threadIdx.y * lanes + threadIdx.x);
       j < lanes * n && first + j < width; j += lanes * warps) {
    float whole = 0;
    for (const auto& ofWarp : sums)
      whole += ofWarp[j];
    partial[blockIdx.x * width + first + j] = whole;
  }
}

template <class T, int n>
void launchSums(const CudaKernelArgs& args, int64_t width) {
  const Tensor &dy = args.inputs[0], &db = args.outputs[0];
  const int64_t rows = dy.elements() / width;
  const int64_t chunks = ceilDivide(width, lanes * n);
  const int64_t wanted =
      ceilDivide(int64_t(8) * args.context.multiprocessors(), chunks);
  const int64_t pieces =
      rowPieces(std::min(wanted, ceilDivide(rows, warps)), width);
  float* partial = args.context.scratch<float>();
  sumRows<T, n><<<dim3(unsigned(pieces), unsigned(chunks)), dim3(lanes, warps),
                  0, args.context.stream()>>>(rows, width, dy.as<T>(), partial);
  addPieces(args, pieces, partial, db);
}

} // namespace

Status addBiasCudaKernel(const CudaKernelArgs& args) {
  const int64_t width = args.inputs[1].elements();
  return withDeviceType(args, args.inputs[0].type, [&]<class T>(DeviceType<T>) {
    withVectors<T>(
        width, [&](auto n) { launchAdd<T, n.value>(args, width); },
        args.inputs[0].data, args.inputs[1].data, args.outputs[0].data);
  });
}

Status biasBackwardCudaKernel(const CudaKernelArgs& args) {
  const int64_t width = args.outputs[0].elements();
  return withDeviceType(args, args.inputs[0].type, [&]<class T>(DeviceType<T>) {
    withVectors<T>(
        width, [&](auto n) { launchSums<T, n.value>(args, width); },
        args.inputs[0].data);
  });
}

} // namespace reciperun::kernels
