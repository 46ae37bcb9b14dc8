// Captures a stream and launches the captured graph.

#include "runtime/device/cuda/CudaRecording.h"

#include "runtime/device/cuda/CudaError.h"
#include "runtime/device/cuda/GraphNodes.h"

namespace reciperun::device {

Status CudaRecording::begin(cudaStream_t stream) {
  // Relaxed mode: libraries allocate memory and create events during capture,
  // and other threads query events; neither is part of the graph.
  RECIPERUN_CUDA_TRY(cudaStreamBeginCapture, stream,
                     cudaStreamCaptureModeRelaxed);
  return Status::ok();
}

Expected<std::unique_ptr<Recording>> CudaRecording::end(cudaStream_t stream,
                                                        GraphPace& pace) {
  cudaGraph_t graph = nullptr;
  RECIPERUN_CUDA_TRY(cudaStreamEndCapture, stream, &graph);
  std::unique_ptr<CudaRecording> recording(new CudaRecording(stream, pace));
  Status opened = recording->open(graph);
  cudaGraphDestroy(graph);
  RECIPERUN_TRY(opened);
  return std::unique_ptr<Recording>(std::move(recording));
}

Status CudaRecording::open(cudaGraph_t graph) {
  RECIPERUN_TRY(fillByKernels(graph));
  const Expected<GraphPace::Followed> asFollowed = pace.follow(graph);
  RECIPERUN_TRY(asFollowed);
  followed = *asFollowed;
  // Work captured on a stream of higher priority keeps its priority.
  RECIPERUN_CUDA_TRY(cudaGraphInstantiate, &executable, graph,
                     cudaGraphInstantiateFlagUseNodePriority);
  RECIPERUN_CUDA_TRY(cudaGraphUpload, executable, stream);
  return Status::ok();
}

CudaRecording::~CudaRecording() {
  if (executable)
    cudaGraphExecDestroy(executable);
}

Status CudaRecording::launch() {
  RECIPERUN_TRY(pace.next(followed, stream));
  RECIPERUN_CUDA_TRY(cudaGraphLaunch, executable, stream);
  return Status::ok();
}

} // namespace reciperun::device
