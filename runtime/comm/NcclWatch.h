// Knows which collectives and messages a GPU waits for (Watch.h).
//
// A GPU collective is a kernel that waits for the other ranks without a limit.
// If one rank hangs, all others wait forever, and their hosts block in the next
// call that needs the GPU. Driver calls block too, for example an event query
// while a launch of another thread waits for queue space. The GPU therefore
// reports its progress in words of host memory.
//
// 1. After each collective and message the stream sets a word to its sequence
//    number on that stream.
// 2. A graph does the same with words of its own, and the stream sets its word
//    after each launch of the graph.

#ifndef RECIPERUN_COMM_NCCLWATCH_H
#define RECIPERUN_COMM_NCCLWATCH_H

#include "runtime/base/Status.h"
#include "runtime/comm/Watch.h"
#include "runtime/device/cuda/HostWords.h"

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

namespace reciperun::comm {

class NcclWatch final : public Lookout {
public:
  NcclWatch() = default;
  NcclWatch(const NcclWatch&) = delete;
  NcclWatch& operator=(const NcclWatch&) = delete;
  ~NcclWatch() override;

  /// Starts tracking for a watch, which outlives the object.
  Status start(Watch& watch);

  /// Tracks the operation enqueued last on a stream. `what` names it and its
  /// ranks. Nothing is tracked before start().
  Status note(cudaStream_t stream, std::string what);
  /// Tracks the operation enqueued next. That operation must set the returned
  /// word when it is complete.
  device::HostWord announce(cudaStream_t stream, std::string what);

  /// From now on, note() and announce() record into a graph that begins on the
  /// stream.
  Status beginRecording(cudaStream_t stream);
  /// Ends the recording and returns the graph's index, from 0.
  int endRecording();
  /// Tracks the launch of a graph that was enqueued last on a stream.
  Status noteLaunch(cudaStream_t stream, int recording);

  bool hasMoved() override;
  std::string awaited() override;

private:
  /// An operation. It is complete when the stream's word has reached `count`.
  struct Entry {
    size_t stream = 0;
    uint32_t count = 0;
    std::string what;
    int recording = -1; // a graph's index, instead of `what`
  };
  /// A collective of a graph: number `count`, from 1, on its stream.
  struct Recorded {
    std::string what;
    size_t stream = 0;
    uint32_t count = 0;
  };
  struct Graph {
    std::vector<Recorded> collectives;
    std::vector<cudaStream_t> streams;
    uint32_t* words = nullptr; // completed collectives, by stream
  };
  /// A stream and its number of entries.
  struct Counter {
    cudaStream_t stream = nullptr;
    uint32_t count = 0;
  };
  /// Limits on tracked streams, on tracked streams per graph, and on graphs.
  static constexpr size_t mostCounters = 512, mostStreams = 8,
                          mostGraphs = 1024;

  device::HostWord record(cudaStream_t stream, std::string what);
  device::HostWord enter(cudaStream_t stream, std::string what, int recording);
  bool isDone(const Entry& entry) const;
  uint64_t doneOfOldest() const;
  std::string textOf(const Entry& entry) const;

  Watch* watch = nullptr;
  uint32_t* words = nullptr;     // of streams, then of graphs; on the host
  std::vector<Counter> counters; // used by the enqueuing thread only
  bool isRecording = false;      // used by the enqueuing thread only
  std::mutex mutex;          // for the members below; never held in a CUDA call
  std::list<Entry> underway; // oldest first
  std::vector<Graph> graphs;
  uint64_t seen = 0; // doneOfOldest() at the last look
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_NCCLWATCH_H
