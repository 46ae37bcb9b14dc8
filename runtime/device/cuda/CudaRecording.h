// A CUDA graph as a recording.
//
// What is enqueued on a stream between begin and end, and on streams that wait
// for it meanwhile and that it waits for in turn, becomes one graph, which is
// enqueued on the stream as one.

#ifndef RECIPERUN_DEVICE_CUDA_CUDARECORDING_H
#define RECIPERUN_DEVICE_CUDA_CUDARECORDING_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/GraphPace.h"

#include <memory>

#include <cuda_runtime_api.h>

namespace reciperun::device {

class CudaRecording final : public Recording {
public:
  /// From now on the stream takes down what is enqueued on it.
  static Status begin(cudaStream_t stream);
  /// Ends that. The graph is on the device when its first launch comes. All
  /// launches keep the pace, which outlives them.
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
