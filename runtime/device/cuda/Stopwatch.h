// Times what a stream does, between two events.

#ifndef RECIPERUN_DEVICE_CUDA_STOPWATCH_H
#define RECIPERUN_DEVICE_CUDA_STOPWATCH_H

#include "runtime/device/cuda/CudaError.h"

#include <optional>

#include <cuda_runtime_api.h>

namespace reciperun::device {

class Stopwatch {
public:
  Stopwatch() = default;
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() {
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
  }

  Status open() {
    RECIPERUN_CUDA_TRY(cudaEventCreate, &begin);
    RECIPERUN_CUDA_TRY(cudaEventCreate, &end);
    return Status::ok();
  }
  bool start(cudaStream_t stream) const {
    return cudaEventRecord(begin, stream) == cudaSuccess;
  }
  /// The ms since the start, when the work is done.
  std::optional<float> stop(cudaStream_t stream) const {
    float time = 0;
    if (cudaEventRecord(end, stream) != cudaSuccess ||
        cudaEventSynchronize(end) != cudaSuccess ||
        cudaEventElapsedTime(&time, begin, end) != cudaSuccess)
      return std::nullopt;
    return time;
  }

private:
  cudaEvent_t begin = nullptr, end = nullptr;
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_STOPWATCH_H
