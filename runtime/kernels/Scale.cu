// y = alpha x on a GPU.

#include "runtime/kernels/CudaKernels.h"
#include "runtime/kernels/Elementwise.cuh"

namespace reciperun::kernels {
namespace {

struct Multiple {
  float alpha;
  __device__ float operator()(float x) const { return alpha * x; }
};

} // namespace

template <>
Status cudaKernel<plan::OpKind::Scale>(const device::CudaKernelArgs& args) {
  return mapOp<1>(args, Multiple{float(args.op.real("alpha", 1))});
}

} // namespace reciperun::kernels
