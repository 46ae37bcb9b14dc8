// Copies between the host's memory and the device's that run beside kernels.
//
// Each direction has a stream of its own, since the bus carries both at once.
//   1. begin: the stream of the direction waits for all kernels enqueued so
//   far,
//      which write what is copied or read what it overwrites; then copies.
//   2. end: kernels enqueued from then on wait for that copy alone.

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

  /// Takes the streams, of the calling thread's device.
  Status open();

  /// Begins to copy behind what `kernels` has to do. The host's side is pinned
  /// memory, or the copy holds the caller up.
  Status begin(cudaStream_t kernels, void* to, const void* from, size_t bytes);

  /// Has `kernels` wait for the copy to `to` that began last.
  Status end(cudaStream_t kernels, const void* to);

private:
  cudaStream_t toDevice = nullptr;
  cudaStream_t toHost = nullptr;
  cudaEvent_t enqueued = nullptr;
  std::map<const void*, cudaEvent_t> done; // by destination
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_CUDACOPIES_H
