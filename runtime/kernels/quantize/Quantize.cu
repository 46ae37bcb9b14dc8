// Quantizes a matrix and its transpose to fp8, with scales, on a GPU.

#include "runtime/kernels/quantize/QuantizeLaunch.cuh"

namespace reciperun::kernels {

Status quantizeCudaKernel(const device::CudaKernelArgs& args) {
  const QuantizeOperands operands[] = {QuantizeOperands::of(args)};
  const device::Tensor& x = operands[0].x;
  return withDeviceType(args, x.type, [&]<class T>(DeviceType<T>) {
    return narrow::quantizeSource(args, narrow::Source<T, 1>{{x.as<T>()}, {}},
                                  operands);
  });
}

} // namespace reciperun::kernels
