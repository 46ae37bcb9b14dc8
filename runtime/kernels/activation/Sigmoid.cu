// y = 1 / (1 + exp(-x)) and its gradient on a GPU.

#include "runtime/kernels/activation/Sigmoid.cuh"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/Elementwise.cuh"

namespace reciperun::kernels {
namespace {

struct Forward {
  __device__ float operator()(float x) const { return sigmoid(x); }
};

struct Backward {
  __device__ float operator()(float dy, float x) const {
    const float y = sigmoid(x);
    return dy * y * (1 - y);
  }
};

} // namespace

Status sigmoidCudaKernel(const device::CudaKernelArgs& args) {
  return mapOp<1>(args, Forward());
}

Status sigmoidBackwardCudaKernel(const device::CudaKernelArgs& args) {
  return mapOp<2>(args, Backward());
}

} // namespace reciperun::kernels
