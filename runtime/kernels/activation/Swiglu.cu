// y = silu(gate) * up and its two gradients on a GPU, each in one pass.

#include "runtime/kernels/activation/Swiglu.cuh"
#include "runtime/kernels/common/CudaKernels.h"

namespace reciperun::kernels {
using device::Tensor;

Status swigluCudaKernel(const device::CudaKernelArgs& args) {
  return mapOp<2>(args, swiglu::Forward());
}

Status swigluBackwardCudaKernel(const device::CudaKernelArgs& args) {
  const Tensor &dgate = args.outputs[0], &dup = args.outputs[1];
  return withDeviceType(args, dgate.type, [&]<class T>(DeviceType<T>) {
    const MapOperands<T, 3, T, 2> operands{{args.inputs[0].as<T>(),
                                            args.inputs[1].as<T>(),
                                            args.inputs[2].as<T>()},
                                           {dgate.as<T>(), dup.as<T>()}};
    mapElements(args, dgate.elements(), operands, swiglu::Backward());
  });
}

} // namespace reciperun::kernels
