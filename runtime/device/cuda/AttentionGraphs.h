// Attention as graphs of cuDNN operations, and the addresses of their tensors.

#ifndef RECIPERUN_DEVICE_CUDA_ATTENTIONGRAPHS_H
#define RECIPERUN_DEVICE_CUDA_ATTENTIONGRAPHS_H

#include "runtime/device/cuda/AttentionPlans.h"
#include "runtime/device/cuda/CudnnGraph.h"

#include <cstdint>
#include <map>

namespace reciperun::device {

/// Rounds bytes up to a multiple of 256, the alignment of workspaces.
constexpr int64_t alignedBytes(int64_t bytes) {
  return (bytes + 255) / 256 * 256;
}

/// The tensors that describe a graph's documents; unset in other graphs.
struct DocumentTensors {
  CudnnGraph::Tensor lengths, queries, keys, states;
};

/// The tensors of a graph that are in memory. The first `ownBytes` of a plan's
/// workspace hold tensors of the graph; the rest is the library's workspace.
struct ForwardGraph {
  using Data = AttentionPlans::Forward;

  DocumentTensors documents;
  CudnnGraph::Tensor q, k, v, out, lse;

  /// Builds the graph.
  ForwardGraph(const AttentionPlans::Shape& shape, CudnnGraph& graph);
  int64_t ownBytes() const { return 0; }
  /// The tensors' addresses by tensor number.
  std::map<int64_t, void*> addresses(const Data& data, void* workspace) const;
};

struct BackwardGraph {
  using Data = AttentionPlans::Backward;

  DocumentTensors documents;
  CudnnGraph::Tensor dout, out, q, k, v, lse, dq, dk, dv;
  /// In the workspace: delta f32 like lse, sums f32 like dq, and for documents
  /// with grouped queries dk and dv of each query head.
  CudnnGraph::Tensor delta, sums, dkOfHeads, dvOfHeads;
  int64_t deltaBytes = 0, sumsBytes = 0, ofHeadsBytes = 0;

  BackwardGraph(const AttentionPlans::Shape& shape, CudnnGraph& graph);
  int64_t ownBytes() const { return deltaBytes + sumsBytes + 2 * ofHeadsBytes; }
  std::map<int64_t, void*> addresses(const Data& data, void* workspace) const;
};

/// Enqueues a graph by one of its plans.
template <class Graph>
Status enqueue(const Graph& graph, CudnnPlan& plan,
               const typename Graph::Data& data, void* workspace,
               cudaStream_t stream) {
  return plan.run(graph.addresses(data, workspace),
                  static_cast<char*>(workspace) + graph.ownBytes(), stream);
}

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_ATTENTIONGRAPHS_H
