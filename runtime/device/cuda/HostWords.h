// Words in pinned memory of the host that kernels set, or other things that are
// enqueued, for the host to see how far a stream or a graph is, and when. A
// copy would go through the queue of a copy engine, where it waits for others.

#ifndef RECIPERUN_DEVICE_CUDA_HOSTWORDS_H
#define RECIPERUN_DEVICE_CUDA_HOSTWORDS_H

#include "runtime/base/Status.h"

#include <cstdint>

#include <cuda_runtime_api.h>

namespace reciperun::device {

/// A word, and what it is to be set to; no word where nobody looks.
struct HostWord {
  uint32_t* place = nullptr;
  uint32_t value = 0;
};

/// Sets `count` words, at most 32.
Status setWords(uint32_t* words, int count, uint32_t value,
                cudaStream_t stream);

/// Sets a word to the time, in nanoseconds of a clock of the device.
Status noteTime(uint64_t* word, cudaStream_t stream);

/// Has a graph set a word to 1 behind a node.
Expected<cudaGraphNode_t> addWord(cudaGraph_t graph, cudaGraphNode_t behind,
                                  uint32_t* word);

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_HOSTWORDS_H
