// Opens a GPU: 1. checks that it exists, 2. checks that kernels are built for
// it, 3. creates streams and scratch.

#include "runtime/device/cuda/CudaContext.h"

#include "runtime/device/cuda/Architectures.h"
#include "runtime/device/cuda/CudaError.h"
#include "runtime/device/cuda/NearbyCores.h"
#include "runtime/device/cuda/PackedOperands.h"

#include <string>

namespace reciperun::device {

Expected<std::unique_ptr<CudaContext>> CudaContext::make(int device) {
  std::unique_ptr<CudaContext> context(new CudaContext);
  if (Status status = context->open(device); !status.isOk())
    return status.withContext("GPU " + std::to_string(device));
  return context;
}

Status CudaContext::open(int device) {
  number = device;
  RECIPERUN_CUDA_TRY(cudaGetDeviceProperties, &described, device);
  if (!isBuiltFor(described.major, described.minor))
    return Status::error(
        std::string("`") + described.name + "` is of compute capability " +
        std::to_string(described.major) + "." +
        std::to_string(described.minor) + ", and this program is built for " +
        architectureNames() +
        ": build it with another `CMAKE_CUDA_ARCHITECTURES`");
  moveNear(described); // before the driver starts threads
  RECIPERUN_CUDA_TRY(cudaSetDevice, device);
  RECIPERUN_CUDA_TRY(cudaStreamCreateWithFlags, &compute,
                     cudaStreamNonBlocking);
  RECIPERUN_TRY(hostCopies.open());
  RECIPERUN_CUDA_TRY(cudaMalloc, &scratchData, size_t(cudaScratchBytes));
  matmuls.setPlace({compute, scratchData,
                    size_t(cudaScratchBytes - packedBytes), described.name});
  return Status::ok();
}

CudaContext::~CudaContext() {
  // A failed device has already released its memory, so the results are
  // ignored.
  cudaFree(scratchData);
  if (compute)
    cudaStreamDestroy(compute);
}

Status CudaContext::wait() {
  RECIPERUN_CUDA_TRY(cudaStreamSynchronize, compute);
  return Status::ok();
}

} // namespace reciperun::device
