// Keeps the host from being further ahead of a GPU than its queue holds.
//
// Where the queue is full, some thousand kernels, a launch spins until there is
// room, on a core that others want.
//   1. A large graph says, in a word of the host's, that all but its last
//      kernels are done.
//   2. The next large graph is launched then; the host sleeps until it may.
// The GPU has the last kernels of the one to do while the other is enqueued.

#ifndef RECIPERUN_DEVICE_CUDA_GRAPHPACE_H
#define RECIPERUN_DEVICE_CUDA_GRAPHPACE_H

#include "runtime/plan/Status.h"

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

namespace reciperun::device {

class GraphPace {
public:
  GraphPace() = default;
  GraphPace(const GraphPace&) = delete;
  GraphPace& operator=(const GraphPace&) = delete;
  ~GraphPace();

  /// Has a graph that is large say when it is nearly done: the word it says it
  /// in, null where the graph is small.
  Expected<uint32_t*> follow(cudaGraph_t graph);

  /// Waits until the graph that was launched last is nearly done, and takes the
  /// one of the word for launched.
  Status next(uint32_t* word, cudaStream_t stream);

private:
  /// A graph of so many nodes is large; the last of them are what the GPU does
  /// meanwhile.
  static constexpr size_t large = 600, tail = 300;
  static constexpr size_t mostWords = 1024;

  Status open();
  Status waitFor(const uint32_t* word, cudaStream_t stream) const;

  uint32_t* words = nullptr; // on the host
  size_t taken = 0;
  void* one = nullptr; // a word of the GPU's that is not 0
  uint32_t* last = nullptr;
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_GRAPHPACE_H
