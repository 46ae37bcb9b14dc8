// y = a * b on a GPU.

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/Elementwise.cuh"

namespace reciperun::kernels {
namespace {

struct Matmul {
  __device__ float operator()(float a, float b) const { return a * b; }
};

} // namespace

Status mulCudaKernel(const device::CudaKernelArgs& args) {
  return mapOp<2>(args, Matmul());
}

} // namespace reciperun::kernels
