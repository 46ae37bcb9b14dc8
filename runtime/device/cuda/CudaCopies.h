// Copies between host and device memory that run concurrently with kernels.
//
// Each direction has its own stream, since the bus is full duplex.
//   1. begin: the direction's stream waits for all kernels enqueued so far,
//      which write the source or read the destination; then it copies.
//   2. end: kernels enqueued afterwards wait for that copy only.

#ifndef RECIPERUN_DEVICE_CUDA_CUDACOPIES_H
#define RECIPERUN_DEVICE_CUDA_CUDACOPIES_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <map>

#include <cuda_runtime_api.h>

namespace reciperun::device {

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

private:
  cudaStream_t toDevice = nullptr;
  cudaStream_t toHost = nullptr;
  cudaEvent_t enqueued = nullptr;
  std::map<const void*, cudaEvent_t> done; // by destination
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_CUDACOPIES_H
