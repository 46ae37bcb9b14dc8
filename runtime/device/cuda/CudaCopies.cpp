// Copies concurrent with kernels.

#include "runtime/device/cuda/CudaCopies.h"

#include "runtime/device/cuda/CudaError.h"

namespace reciperun::device {

Status CudaCopies::open() {
  RECIPERUN_CUDA_TRY(cudaStreamCreateWithFlags, &toDevice,
                     cudaStreamNonBlocking);
  RECIPERUN_CUDA_TRY(cudaStreamCreateWithFlags, &toHost, cudaStreamNonBlocking);
  RECIPERUN_CUDA_TRY(cudaEventCreateWithFlags, &enqueued,
                     cudaEventDisableTiming);
  return Status::ok();
}

CudaCopies::~CudaCopies() {
  for (const auto& [destination, event] : done)
    cudaEventDestroy(event);
  if (enqueued)
    cudaEventDestroy(enqueued);
  if (toHost)
    cudaStreamDestroy(toHost);
  if (toDevice)
    cudaStreamDestroy(toDevice);
}

Status CudaCopies::begin(cudaStream_t kernels, void* to, const void* from,
                         size_t bytes) {
  cudaPointerAttributes target = {};
  RECIPERUN_CUDA_TRY(cudaPointerGetAttributes, &target, to);
  const cudaStream_t stream =
      target.type == cudaMemoryTypeDevice ? toDevice : toHost;
  RECIPERUN_CUDA_TRY(cudaEventRecord, enqueued, kernels);
  RECIPERUN_CUDA_TRY(cudaStreamWaitEvent, stream, enqueued, 0);
  RECIPERUN_CUDA_TRY(cudaMemcpyAsync, to, from, bytes, cudaMemcpyDefault,
                     stream);
  cudaEvent_t& copied = done[to];
  if (!copied)
    RECIPERUN_CUDA_TRY(cudaEventCreateWithFlags, &copied,
                       cudaEventDisableTiming);
  RECIPERUN_CUDA_TRY(cudaEventRecord, copied, stream);
  return Status::ok();
}

Status CudaCopies::end(cudaStream_t kernels, const void* to) {
  const auto copy = done.find(to);
  if (copy == done.end())
    return Status::error("no copy to its buffer has begun");
  RECIPERUN_CUDA_TRY(cudaStreamWaitEvent, kernels, copy->second, 0);
  return Status::ok();
}

} // namespace reciperun::device
