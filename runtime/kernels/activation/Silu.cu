// y = x sigmoid(x) and its gradient on a GPU.

#include "runtime/kernels/activation/Sigmoid.cuh"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/Elementwise.cuh"

namespace reciperun::kernels {
namespace {

struct Forward {
  __device__ float operator()(float x) const { return x * sigmoid(x); }
};

struct Backward {
  __device__ float operator()(float dy, float x) const {
    return dy * siluSlope(x);
  }
};

} // namespace

Status siluCudaKernel(const device::CudaKernelArgs& args) {
  return mapOp<1>(args, Forward());
}

Status siluBackwardCudaKernel(const device::CudaKernelArgs& args) {
  return mapOp<2>(args, Backward());
}

} // namespace reciperun::kernels
