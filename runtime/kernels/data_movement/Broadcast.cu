// y [..., over, n] repeats each row of x [..., n] `over` times, on a GPU. The
// gradient sums dy over the copies.

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/RowCopies.cuh"

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;

template <class T, int n>
__global__ void __launch_bounds__(RowTiles::blockThreads)
    sumCopies(RowTiles tiles, int64_t over, const T* dy, T* dx) {
  const int64_t width = tiles.columns * n, at = tiles.column() * n;
  const int64_t row = tiles.row(0);
  if (at >= width || row >= tiles.rows)
    return;
  float sum[n] = {};
#pragma unroll 4
  for (int64_t k = 0; k < over; ++k) {
    const auto part = Vector<T, n>::load(dy + (row * over + k) * width + at);
#pragma unroll
    for (int e = 0; e < n; ++e)
      sum[e] += part[e];
  }
  rounded<T, n>(sum).store(dx + row * width + at);
}

template <class T, int n>
void launchSum(const CudaKernelArgs& args, int64_t width, int64_t over) {
  const Tensor &dy = args.inputs[0], &dx = args.outputs[0];
  const RowTiles tiles(dx.elements() / width, width / n, 1);
  sumCopies<T, n>
      <<<tiles.blocks(), tiles.threads(), 0, args.context.stream()>>>(
          tiles, over, dy.as<T>(), dx.as<T>());
}

} // namespace

Status broadcastCudaKernel(const CudaKernelArgs& args) {
  const Tensor &x = args.inputs[0], &y = args.outputs[0];
  const int64_t width = x.shape.back(), over = y.elements() / x.elements();
  const int64_t rows = x.elements() / width, bytes = x.bytes() / rows;
  return copyRows(args,
                  {y.as<std::byte>(), rows * over, bytes, bytes, 0, bytes},
                  EvenRows{x.as<std::byte>(), bytes, over});
}

Status broadcastBackwardCudaKernel(const CudaKernelArgs& args) {
  const Tensor &dy = args.inputs[0], &dx = args.outputs[0];
  const int64_t width = dx.shape.back(), over = dy.elements() / dx.elements();
  return withDeviceType(args, dx.type, [&]<class T>(DeviceType<T>) {
    withVectors<T>(
        width, [&](auto n) { launchSum<T, n.value>(args, width, over); },
        dy.data, dx.data);
  });
}

} // namespace reciperun::kernels
