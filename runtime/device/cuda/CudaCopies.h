// Copies between host and device memory that run concurrently with kernels.
//
// Each direction has its own stream, since the bus is full duplex.
//   1. begin: the direction's stream waits for all kernels enqueued so far,
//      which write the source or read the destination; then it copies.
//   2. end: kernels enqueued afterwards wait for that copy only.
//
// Saves are copies to the host that are awaited all at once.

#ifndef RECIPERUN_DEVICE_CUDA_CUDACOPIES_H
#define RECIPERUN_DEVICE_CUDA_CUDACOPIES_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <map>
#include <span>

#include <cuda_runtime_api.h>

namespace reciperun::device {

struct StridedCopy;

/// Enqueues copies whose host sides are pinned memory.
Status enqueueCopies(cudaStream_t stream, std::span<const StridedCopy> copies);

class CudaCopies {
public:
  CudaCopies() = default;
  CudaCopies(const CudaCopies&) = delete;
  CudaCopies& operator=(const CudaCopies&) = delete;
  ~CudaCopies();

  /// Creates the streams on the calling thread's device.
  Status open();

  /// Starts a copy after the work enqueued on `kernels`. The host side must be
  /// pinned memory; otherwise the copy blocks the caller.
  Status begin(cudaStream_t kernels, void* to, const void* from, size_t bytes);

  /// Makes `kernels` wait for the last copy to `to`.
  Status end(cudaStream_t kernels, const void* to);

  /// Starts copies to the host after the work enqueued on `kernels`.
  Status startSaves(cudaStream_t kernels, std::span<const StridedCopy> copies);
  /// Makes `kernels` wait for the copies of startSaves().
  Status finishSaves(cudaStream_t kernels);

private:
  cudaStream_t toDevice = nullptr;
  cudaStream_t toHost = nullptr;
  cudaEvent_t enqueued = nullptr;
  cudaEvent_t saved = nullptr;
  std::map<const void*, cudaEvent_t> done; // by destination
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_CUDACOPIES_H
