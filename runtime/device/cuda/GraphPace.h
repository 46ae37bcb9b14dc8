// Keeps the host from being further ahead of a GPU than its queue holds.
//
// Kernels that follow one another in a graph take one place of the queue, and
// so does each other node. Where it is full, with some thousand, a launch spins
// until there is room, on a core that others want.
//   1. A graph of many places says, in a word of the host's, that all but its
//      last nodes are done.
//   2. The next one is launched once those that have not said so take few
//      places together; the host sleeps until then.
// What the GPU has left to do meanwhile are the last nodes of one graph, and
// small graphs behind it.

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
  /// What the pace knows of a graph.
  struct Followed {
    uint32_t* word = nullptr; // null where nobody waits for the graph
    /// Nodes that are no kernels; with the kernels between them they take twice
    /// as many places.
    size_t places = 0;
  };

  GraphPace() = default;
  GraphPace(const GraphPace&) = delete;
  GraphPace& operator=(const GraphPace&) = delete;
  ~GraphPace();

  /// Takes the words, for which the driver may wait for the device.
  Status open();

  /// Has a graph say when it is nearly done, unless it takes next to no place.
  Expected<Followed> follow(cudaGraph_t graph);

  /// Waits until the graph may be launched, and takes it for launched.
  Status next(const Followed& graph, cudaStream_t stream);

private:
  /// Fewer places are next to none; the last nodes of a graph, at most half of
  /// them, are what the GPU does meanwhile; so many places are few.
  static constexpr size_t tiny = 64, tail = 300, few = 600;
  static constexpr size_t mostWords = 1024;

  static Status insertWord(cudaGraph_t graph, cudaGraphNode_t node,
                           const std::vector<cudaGraphNode_t>& waiting,
                           uint32_t* word);
  bool mayLaunch(const Followed& graph);
  Status waitFor(uint32_t* word, cudaStream_t stream) const;

  uint32_t* words = nullptr; // on the host
  size_t taken = 0;
  std::deque<Followed> launched; // those that may have said nothing yet
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_GRAPHPACE_H
