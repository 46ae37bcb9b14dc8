// y = silu(gate) * up and its two gradients on a GPU, each in one pass.

#include "runtime/kernels/CudaKernels.h"
#include "runtime/kernels/Elementwise.cuh"
#include "runtime/kernels/Sigmoid.cuh"

namespace reciperun::kernels {
namespace {

struct Forward {
  __device__ float operator()(float gate, float up) const {
    return gate * sigmoid(gate) * up;
  }
};

/// dgate and dup.
struct Backward {
  __device__ Results<2> operator()(float dy, float gate, float up) const {
    const float s = sigmoid(gate);
    return {{dy * up * s * (1.0f + gate * (1.0f - s)), dy * gate * s}};
  }
};

} // namespace

using device::Tensor;
using plan::OpKind;

template <>
Status cudaKernel<OpKind::Swiglu>(const device::CudaKernelArgs& args) {
  return mapOp<2>(args, Forward());
}

template <>
Status cudaKernel<OpKind::SwigluBackward>(const device::CudaKernelArgs& args) {
  const Tensor &dgate = args.outputs[0], &dup = args.outputs[1];
  return withDeviceType(args, dgate.type, [&]<class T>(DeviceType<T>) {
    const MapOperands<T, 3, T, 2> operands{{args.inputs[0].as<T>(),
                                            args.inputs[1].as<T>(),
                                            args.inputs[2].as<T>()},
                                           {dgate.as<T>(), dup.as<T>()}};
    mapElements(args, dgate.elements(), operands, Backward());
  });
}

} // namespace reciperun::kernels
