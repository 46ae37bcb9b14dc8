// A CUDA graph as a recording.
//
// The graph captures the work enqueued between begin and end on a stream, and
// on streams that fork from it and join it again. One launch enqueues the whole
// graph on the stream.

#ifndef RECIPERUN_DEVICE_CUDA_CUDARECORDING_H
#define RECIPERUN_DEVICE_CUDA_CUDARECORDING_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/GraphPace.h"

#include <memory>

#include <cuda_runtime_api.h>

namespace reciperun::device {

class CudaRecording final : public Recording {
public:
  /// Starts capturing the stream.
  static Status begin(cudaStream_t stream);
  /// Ends the capture and uploads the graph to the device. All launches go
  /// through the pace, which must outlive the recording.
  static Expected<std::unique_ptr<Recording>> end(cudaStream_t stream,
                                                  GraphPace& pace);

  CudaRecording(const CudaRecording&) = delete;
  CudaRecording& operator=(const CudaRecording&) = delete;
  ~CudaRecording() override;

  Status launch() override;

private:
  CudaRecording(cudaStream_t stream, GraphPace& pace)
      : stream(stream), pace(pace) {}
  Status open(cudaGraph_t graph);

  cudaStream_t stream;
  GraphPace& pace;
  GraphPace::Followed followed;
  cudaGraphExec_t executable = nullptr;
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_CUDARECORDING_H
