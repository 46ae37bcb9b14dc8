// y = max(x, 0)^2 and its gradient on a GPU.

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/Elementwise.cuh"

namespace reciperun::kernels {
namespace {

// Compares instead of max, so that NaN stays NaN.
struct Forward {
  __device__ float operator()(float x) const { return x < 0 ? 0 : x * x; }
};

struct Backward {
  __device__ float operator()(float dy, float x) const {
    return x < 0 ? 0 : 2 * dy * x;
  }
};

} // namespace

Status relu2CudaKernel(const device::CudaKernelArgs& args) {
  return mapOp<1>(args, Forward());
}

Status relu2BackwardCudaKernel(const device::CudaKernelArgs& args) {
  return mapOp<2>(args, Backward());
}

} // namespace reciperun::kernels
