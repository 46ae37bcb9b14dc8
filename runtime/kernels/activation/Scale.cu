// y = alpha x on a GPU.

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/Elementwise.cuh"
#include "runtime/ops/ActivationOps.h"

namespace reciperun::kernels {
namespace {

struct Multiple {
  float alpha;
  __device__ float operator()(float x) const { return alpha * x; }
};

} // namespace

Status scaleCudaKernel(const device::CudaKernelArgs& args) {
  return mapOp<1>(
      args, Multiple{float(ops::ScaleAttributes(args.op.attributes).alpha)});
}

} // namespace reciperun::kernels
