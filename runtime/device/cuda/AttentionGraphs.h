// Attention as graphs of cuDNN's operations, and where their tensors are.

#ifndef RECIPERUN_DEVICE_CUDA_ATTENTIONGRAPHS_H
#define RECIPERUN_DEVICE_CUDA_ATTENTIONGRAPHS_H

#include "runtime/device/cuda/AttentionPlans.h"
#include "runtime/device/cuda/CudnnGraph.h"

#include <cstdint>
#include <map>

namespace reciperun::device {

/// Bytes in whole pieces of 256, as workspaces are cut.
constexpr int64_t alignedBytes(int64_t bytes) {
  return (bytes + 255) / 256 * 256;
}

/// What a graph of documents knows them by; in other graphs none is there.
struct DocumentTensors {
  CudnnGraph::Tensor lengths, queries, keys, states;
};

/// The tensors of a graph that are in memory. A plan's workspace has `ownBytes`
/// of them, and behind these what the library takes for itself.
struct ForwardGraph {
  using Data = AttentionPlans::Forward;

  DocumentTensors documents;
  CudnnGraph::Tensor q, k, v, out, lse;

  /// Makes the graph.
  ForwardGraph(const AttentionPlans::Shape& shape, CudnnGraph& graph);
  int64_t ownBytes() const { return 0; }
  /// Where the tensors are, by their numbers.
  std::map<int64_t, void*> addresses(const Data& data, void* workspace) const;
};

struct BackwardGraph {
  using Data = AttentionPlans::Backward;

  DocumentTensors documents;
  CudnnGraph::Tensor dout, out, q, k, v, lse, dq, dk, dv;
  /// The workspace's: delta f32 like lse, sums f32 like dq, and of documents
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
