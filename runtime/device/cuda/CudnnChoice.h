// Which of the engines that cuDNN suggests for a graph is the fastest here.
//
// An engine counts if it compiles, keeps to the workspace, writes finite
// numbers that are close to what the first of the suggestions writes and, where
// bits must not change between runs, writes the same bits again: the library's
// notes about engines do not tell.

#ifndef RECIPERUN_DEVICE_CUDA_CUDNNCHOICE_H
#define RECIPERUN_DEVICE_CUDA_CUDNNCHOICE_H

#include "runtime/device/cuda/CudnnGraph.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

namespace reciperun::device {

/// What a plan writes, in bf16 or f32.
struct CudnnOutput {
  const void* data;
  int64_t elements;
  bool isFloat;
};

/// How plans are tried: `run` enqueues one on the stream, with numbers in place
/// that make results tell plans apart.
struct CudnnTrial {
  std::function<Status(CudnnPlan&)> run;
  std::vector<CudnnOutput> outputs;
  int64_t workspaceBytes; // that there are for the library
  bool isRepeatable;      // bits must be the same each time
  cudaStream_t stream;
};

/// An engine's time; where it does not count, why.
struct CudnnTime {
  CudnnEngine engine;
  double milliseconds = 0;
  std::string objection;
};

struct CudnnChoice {
  CudnnEngine engine;
  std::unique_ptr<CudnnPlan> plan;
  std::vector<CudnnTime> times; // of all suggestions, in their order
};

/// Tries all suggestions; waits for the device. Fails where none counts.
Expected<CudnnChoice> chooseByTime(CudnnGraph& graph, const CudnnTrial& trial);

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_CUDNNCHOICE_H
