// Words in pinned host memory that kernels set, to tell the host how far a
// stream or a graph is, and when. A copy would go through a copy engine's
// queue, where it waits for other copies.

#ifndef RECIPERUN_DEVICE_CUDA_HOSTWORDS_H
#define RECIPERUN_DEVICE_CUDA_HOSTWORDS_H

#include "runtime/base/Status.h"

#include <cstdint>

#include <cuda_runtime_api.h>

namespace reciperun::device {

/// A word and the value to set it to; `place` is null when nobody reads the
/// word.
struct HostWord {
  uint32_t* place = nullptr;
  uint32_t value = 0;
};

/// Sets `count` words, at most 32.
Status setWords(uint32_t* words, int count, uint32_t value,
                cudaStream_t stream);

/// Sets a word to the device clock's time in nanoseconds.
Status noteTime(uint64_t* word, cudaStream_t stream);

/// Adds a node to a graph that sets a word to 1 after the node `behind`.
Expected<cudaGraphNode_t> addWord(cudaGraph_t graph, cudaGraphNode_t behind,
                                  uint32_t* word);

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_HOSTWORDS_H
