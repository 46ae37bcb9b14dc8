// y = silu(gate) * up and its two gradients on a GPU, each in one pass. For
// rows of experts, the pass also computes the dot products of the rows of dy
// and y.

#include "runtime/kernels/activation/Swiglu.cuh"
#include "runtime/kernels/common/BlockSums.cuh"
#include "runtime/kernels/common/CudaKernels.h"

namespace reciperun::kernels {
using device::Tensor;

namespace swiglu {
namespace {

constexpr int rowsOfBlock = 8;

template <class T> using Operands = MapOperands<T, 3, T, 2>;

/// One warp per row of `width` elements. In the dot product, y is rounded as
/// in `swiglu`.
template <class T, int n>
__global__ void __launch_bounds__(32 * rowsOfBlock)
    rowsBackward(int64_t rows, int64_t width, Operands<T> operands,
                 float* dots) {
  const int64_t row = int64_t(blockIdx.x) * rowsOfBlock + threadIdx.y;
  if (row >= rows)
    return;
  float product = 0;
#pragma unroll 2
  for (int64_t at = int64_t(threadIdx.x) * n; at < width; at += 32 * n) {
    Vector<T, n> x[3];
    map::load(operands, row * width + at, x);
    float y[n];
#pragma unroll
    for (int e = 0; e < n; ++e)
      y[e] = Forward()(x[1][e], x[2][e]);
    const auto stored = rounded<T, n>(y);
#pragma unroll
    for (int e = 0; e < n; ++e)
      product += x[0][e] * stored[e];
    map::store(operands, row * width + at, x, Backward());
  }
  product = acrossLanes(product, 32, Plus());
  if (threadIdx.x == 0)
    dots[row] = product;
}

template <class T, int n>
void launchRows(const device::CudaKernelArgs& args,
                const Operands<T>& operands) {
  const Tensor& dots = args.outputs[2];
  const int64_t rows = dots.elements();
  rowsBackward<T, n><<<unsigned(ceilDivide(rows, rowsOfBlock)),
                       dim3(32, rowsOfBlock), 0, args.context.stream()>>>(
      rows, args.outputs[0].elements() / rows, operands, dots.as<float>());
}

template <class T> Operands<T> operandsOf(const device::CudaKernelArgs& args) {
  return {
      {args.inputs[0].as<T>(), args.inputs[1].as<T>(), args.inputs[2].as<T>()},
      {args.outputs[0].as<T>(), args.outputs[1].as<T>()}};
}

} // namespace
} // namespace swiglu

Status swigluCudaKernel(const device::CudaKernelArgs& args) {
  return mapOp<2>(args, swiglu::Forward());
}

Status swigluBackwardCudaKernel(const device::CudaKernelArgs& args) {
  const Tensor& dgate = args.outputs[0];
  return withDeviceType(args, dgate.type, [&]<class T>(DeviceType<T>) {
    mapElements(args, dgate.elements(), swiglu::operandsOf<T>(args),
                swiglu::Backward());
  });
}

Status swigluBackwardDotsCudaKernel(const device::CudaKernelArgs& args) {
  const Tensor& dgate = args.outputs[0];
  const int64_t width = dgate.elements() / args.outputs[2].elements();
  return withDeviceType(args, dgate.type, [&]<class T>(DeviceType<T>) {
    const auto operands = swiglu::operandsOf<T>(args);
    const auto& [x, y] = operands;
    constexpr int n = vectorLength<T>;
    if (width % n == 0 && areAligned(16, x[0], x[1], x[2], y[0], y[1]))
      swiglu::launchRows<T, n>(args, operands);
    else
      swiglu::launchRows<T, 1>(args, operands);
  });
}

} // namespace reciperun::kernels
