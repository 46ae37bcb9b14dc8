// The nodes of a CUDA graph and their dependencies.

#ifndef RECIPERUN_DEVICE_CUDA_GRAPHNODES_H
#define RECIPERUN_DEVICE_CUDA_GRAPHNODES_H

#include "runtime/base/Status.h"

#include <vector>

#include <cuda_runtime_api.h>

namespace reciperun::device {

/// The nodes in order of creation.
Expected<std::vector<cudaGraphNode_t>> nodesOf(cudaGraph_t graph);

/// The kinds of nodes that differ in launch cost on the host.
enum class NodeKind { kernel, memset, other };
NodeKind kindOf(cudaGraphNode_t node);

/// The predecessors or successors of a node.
struct Neighbours {
  std::vector<cudaGraphNode_t> nodes;
  bool isEarly = false; // an edge starts before its source has ended
};
Expected<Neighbours> nodesBefore(cudaGraphNode_t node);
Expected<Neighbours> nodesBehind(cudaGraphNode_t node);

/// Replaces memset nodes by kernels. The host launches a sequence of kernels in
/// one step, of any length; any other node in between takes the host about a
/// microsecond, and the device some time. Libraries clear a few words before
/// most of their matmuls.
Status fillByKernels(cudaGraph_t graph);

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_GRAPHNODES_H
