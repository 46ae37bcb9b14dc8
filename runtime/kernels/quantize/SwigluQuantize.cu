// Quantizes the results of a swiglu and of its gradient on a GPU. See
// QuantizeLaunch.cuh. The bits equal those of the two ops in sequence.

#include "runtime/kernels/activation/Swiglu.cuh"
#include "runtime/kernels/quantize/QuantizeLaunch.cuh"

namespace reciperun::kernels {

Status swigluQuantizeCudaKernel(const device::CudaKernelArgs& args) {
  const auto& in = args.inputs;
  const QuantizeOperands operands[] = {QuantizeOperands::of(args, 0)};
  return withDeviceType(args, in[0].type, [&]<class T>(DeviceType<T>) {
    return narrow::quantizeSource(args,
                                  narrow::Source<T, 2, swiglu::Forward>{
                                      {in[0].as<T>(), in[1].as<T>()}, {}},
                                  operands);
  });
}

Status swigluBackwardQuantizeCudaKernel(const device::CudaKernelArgs& args) {
  const auto& in = args.inputs;
  const QuantizeOperands operands[] = {QuantizeOperands::of(args, 0),
                                       QuantizeOperands::of(args, 1)};
  return withDeviceType(args, in[0].type, [&]<class T>(DeviceType<T>) {
    const narrow::Source<T, 3, swiglu::Backward, 2> source{
        {in[0].as<T>(), in[1].as<T>(), in[2].as<T>()}, {}};
    return narrow::quantizeSource(args, source, operands);
  });
}

} // namespace reciperun::kernels
