// y = a * b on a GPU.

#include "runtime/kernels/CudaKernels.h"
#include "runtime/kernels/Elementwise.cuh"

namespace reciperun::kernels {
namespace {

struct Product {
  __device__ float operator()(float a, float b) const { return a * b; }
};

} // namespace

Status mulCudaKernel(const device::CudaKernelArgs& args) {
  return mapOp<2>(args, Product());
}

} // namespace reciperun::kernels
