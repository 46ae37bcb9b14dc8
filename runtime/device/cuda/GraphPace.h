// Keeps the host from running further ahead of a GPU than its launch queue
// holds.
//
// A sequence of kernels in a graph takes one entry of the queue, and so does
// each other node. When the queue is full, at some thousand entries, a launch
// spins until an entry is free, and occupies a core that other threads need.
//   1. A graph of many entries sets a word in host memory when all but its last
//      nodes are done.
//   2. The next graph is launched when the launched graphs that have not set
//      their words take few entries together; the host sleeps until then.
//      Meanwhile the GPU works on the last nodes of one graph and on small
//      graphs after it.

#ifndef RECIPERUN_DEVICE_CUDA_GRAPHPACE_H
#define RECIPERUN_DEVICE_CUDA_GRAPHPACE_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include <cuda_runtime_api.h>

namespace reciperun::device {

class GraphPace {
public:
  /// The queue usage of a graph.
  struct Followed {
    uint32_t* word = nullptr; // null for a graph that needs no word
    /// The number of nodes that are not kernels. With the sequences of kernels
    /// between them, they take up to twice as many queue entries.
    size_t places = 0;
  };

  GraphPace() = default;
  GraphPace(const GraphPace&) = delete;
  GraphPace& operator=(const GraphPace&) = delete;
  ~GraphPace();

  /// Allocates the words; the driver may wait for the device.
  Status open();

  /// Adds a node that sets a word when the graph is nearly done, unless the
  /// graph takes few queue entries.
  Expected<Followed> follow(cudaGraph_t graph);

  /// Waits until the graph may be launched, and counts it as launched.
  Status next(const Followed& graph, cudaStream_t stream);

private:
  /// `tiny`: a graph of fewer entries is not tracked. `tail`: the last nodes of
  /// a graph, at most half of them, which the GPU runs while the host sleeps.
  /// `few`: the number of entries that may be pending.
  static constexpr size_t tiny = 64, tail = 300, few = 600;
  static constexpr size_t mostWords = 1024;

  static Status insertWord(cudaGraph_t graph, cudaGraphNode_t node,
                           const std::vector<cudaGraphNode_t>& waiting,
                           uint32_t* word);
  bool mayLaunch(const Followed& graph);
  Status waitFor(uint32_t* word, cudaStream_t stream) const;

  uint32_t* words = nullptr; // on the host
  size_t taken = 0;
  std::deque<Followed> launched; // graphs that may not have set their word yet
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_GRAPHPACE_H
