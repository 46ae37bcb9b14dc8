// Copies concurrent with kernels.

#include "runtime/device/cuda/CudaCopies.h"

#include "runtime/device/Device.h"
#include "runtime/device/cuda/CudaError.h"

#include <algorithm>

namespace reciperun::device {
namespace {

/// The largest distance between the rows of one copy
/// (cudaDevAttrMaxPitch of all GPUs).
constexpr int64_t maxPitch = 2147483647;

Status enqueueCopy(cudaStream_t stream, const StridedCopy& copy) {
  if (copy.rows > 1 && std::max(copy.toStride, copy.fromStride) <= maxPitch) {
    RECIPERUN_CUDA_TRY(cudaMemcpy2DAsync, copy.to, size_t(copy.toStride),
                       copy.from, size_t(copy.fromStride), size_t(copy.bytes),
                       size_t(copy.rows), cudaMemcpyDefault, stream);
    return Status::ok();
  }
  for (int64_t row = 0; row < copy.rows; ++row)
    RECIPERUN_CUDA_TRY(
        cudaMemcpyAsync, static_cast<std::byte*>(copy.to) + row * copy.toStride,
        static_cast<const std::byte*>(copy.from) + row * copy.fromStride,
        size_t(copy.bytes), cudaMemcpyDefault, stream);
  return Status::ok();
}

} // namespace

Status enqueueCopies(cudaStream_t stream, std::span<const StridedCopy> copies) {
  for (const StridedCopy& each : copies)
    RECIPERUN_TRY(enqueueCopy(stream, each));
  return Status::ok();
}

Status CudaCopies::open() {
  RECIPERUN_CUDA_TRY(cudaStreamCreateWithFlags, &toDevice,
                     cudaStreamNonBlocking);
  RECIPERUN_CUDA_TRY(cudaStreamCreateWithFlags, &toHost, cudaStreamNonBlocking);
  for (cudaEvent_t* event : {&enqueued, &saved})
    RECIPERUN_CUDA_TRY(cudaEventCreateWithFlags, event, cudaEventDisableTiming);
  return Status::ok();
}

CudaCopies::~CudaCopies() {
  for (const auto& [destination, event] : done)
    cudaEventDestroy(event);
  for (cudaEvent_t event : {enqueued, saved})
    if (event)
      cudaEventDestroy(event);
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

Status CudaCopies::startSaves(cudaStream_t kernels,
                              std::span<const StridedCopy> copies) {
  RECIPERUN_CUDA_TRY(cudaEventRecord, enqueued, kernels);
  RECIPERUN_CUDA_TRY(cudaStreamWaitEvent, toHost, enqueued, 0);
  RECIPERUN_TRY(enqueueCopies(toHost, copies));
  RECIPERUN_CUDA_TRY(cudaEventRecord, saved, toHost);
  return Status::ok();
}

Status CudaCopies::finishSaves(cudaStream_t kernels) {
  RECIPERUN_CUDA_TRY(cudaStreamWaitEvent, kernels, saved, 0);
  return Status::ok();
}

} // namespace reciperun::device
