// The nodes of a graph, and those that they wait for.

#ifndef RECIPERUN_DEVICE_CUDA_GRAPHNODES_H
#define RECIPERUN_DEVICE_CUDA_GRAPHNODES_H

#include "runtime/base/Status.h"

#include <vector>

#include <cuda_runtime_api.h>

namespace reciperun::device {

/// In the order in which they were made.
Expected<std::vector<cudaGraphNode_t>> nodesOf(cudaGraph_t graph);

/// What the host's time for a launch depends on.
enum class NodeKind { kernel, memset, other };
NodeKind kindOf(cudaGraphNode_t node);

/// Those that a node waits for, or that wait for it.
struct Neighbours {
  std::vector<cudaGraphNode_t> nodes;
  bool isEarly = false; // one starts before the end of what it waits for
};
Expected<Neighbours> nodesBefore(cudaGraphNode_t node);
Expected<Neighbours> nodesBehind(cudaGraphNode_t node);

/// Puts kernels in the place of nodes that fill memory. Kernels that follow one
/// another are launched as one, however many they are; anything else between
/// them takes the host about a microsecond, and the device some. Libraries
/// clear words of theirs before most of their products.
Status fillByKernels(cudaGraph_t graph);

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_GRAPHNODES_H
