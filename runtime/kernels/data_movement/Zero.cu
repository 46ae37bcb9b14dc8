// y = 0 on a GPU, of any type.

#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/CudaError.h"
#include "runtime/kernels/common/CudaKernels.h"

namespace reciperun::kernels {

Status zeroCudaKernel(const device::CudaKernelArgs& args) {
  for (const device::Tensor& y : args.outputs)
    RECIPERUN_CUDA_TRY(cudaMemsetAsync, y.data, 0, size_t(y.bytes()),
                       args.context.stream());
  return Status::ok();
}

} // namespace reciperun::kernels
