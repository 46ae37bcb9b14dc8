// y = c tanh(x / c) and its gradient on a GPU.

#include "runtime/kernels/CudaKernels.h"
#include "runtime/kernels/Elementwise.cuh"

namespace reciperun::kernels {
namespace {

struct Forward {
  float cap, inverse;
  __device__ float operator()(float x) const {
    return cap * tanhf(x * inverse);
  }
};

struct Backward {
  float inverse;
  __device__ float operator()(float dy, float x) const {
    const float t = tanhf(x * inverse);
    return dy * (1.0f - t * t);
  }
};

} // namespace

using plan::OpKind;

template <>
Status cudaKernel<OpKind::Softcap>(const device::CudaKernelArgs& args) {
  const double cap = args.op.real("cap");
  return mapOp<1>(args, Forward{float(cap), float(1 / cap)});
}

template <>
Status cudaKernel<OpKind::SoftcapBackward>(const device::CudaKernelArgs& args) {
  return mapOp<2>(args, Backward{float(1 / args.op.real("cap"))});
}

} // namespace reciperun::kernels
