// y = c tanh(x / c) and its gradient on a GPU.

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/Elementwise.cuh"
#include "runtime/ops/ActivationOps.h"

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

Status softcapCudaKernel(const device::CudaKernelArgs& args) {
  const double cap = ops::SoftcapAttributes(args.op.attributes).cap;
  return mapOp<1>(args, Forward{float(cap), float(1 / cap)});
}

Status softcapBackwardCudaKernel(const device::CudaKernelArgs& args) {
  return mapOp<2>(
      args,
      Backward{float(1 / ops::SoftcapAttributes(args.op.attributes).cap)});
}

} // namespace reciperun::kernels
