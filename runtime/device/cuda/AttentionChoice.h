// Which of cuDNN's engines is the fastest for an attention on this GPU.

#ifndef RECIPERUN_DEVICE_CUDA_ATTENTIONCHOICE_H
#define RECIPERUN_DEVICE_CUDA_ATTENTIONCHOICE_H

#include "runtime/device/cuda/AttentionGraphs.h"
#include "runtime/device/cuda/CudnnChoice.h"

namespace reciperun::device {

/// Whether trying engines, which are compiled for it, takes less than it may
/// save in a training.
bool isWorthMeasuring(const AttentionPlans::Shape& shape);

/// Tries all that the library suggests and that takes at most so much workspace
/// of the library's own, on memory that is given back. Waits for the device.
Expected<CudnnChoice> chooseAttention(const AttentionPlans::Shape& shape,
                                      CudnnGraph& graph,
                                      const ForwardGraph& tensors,
                                      int64_t workspaceBytes);
Expected<CudnnChoice> chooseAttention(const AttentionPlans::Shape& shape,
                                      CudnnGraph& graph,
                                      const BackwardGraph& tensors,
                                      int64_t workspaceBytes);

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_ATTENTIONCHOICE_H
