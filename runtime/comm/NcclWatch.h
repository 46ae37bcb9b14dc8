// Knows which collectives and messages a GPU waits for (Watch.h).
//
// A collective of GPUs is a kernel that waits for its other ranks, for as long
// as it takes: where one of them hangs, all others would wait for ever, their
// hosts in whatever call comes to need the GPU. Calls of the driver wait there,
// too, such as those that ask for an event while a launch of another thread
// waits for room; so the GPU says how far it is in words of the host's.
//
// 1. Behind each collective and message its stream sets a word to their number
//    on it.
// 2. So it does in a graph, which has words of its own, and behind each launch
//    of one.

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

  /// Begins to take notes for a watch, which outlives the object.
  Status start(Watch& watch);

  /// Notes what has been enqueued last on a stream; `what` says what it is and
  /// with which ranks. Nothing is noted before the start.
  Status note(cudaStream_t stream, std::string what);
  /// The same of what is enqueued next, which is to set the word when it is
  /// done.
  device::HostWord announce(cudaStream_t stream, std::string what);

  /// What is noted from now on is recorded in a graph, which begins on the
  /// stream.
  Status beginRecording(cudaStream_t stream);
  /// The number of that graph, from 0.
  int endRecording();
  /// Notes that a graph has been enqueued last on a stream.
  Status noteLaunch(cudaStream_t stream, int recording);

  bool hasMoved() override;
  std::string awaited() override;

private:
  /// Done when the stream's word is at `count`.
  struct Entry {
    size_t stream = 0;
    uint32_t count = 0;
    std::string what;
    int recording = -1; // in the place of `what`
  };
  /// A collective of a graph: number `count`, from 1, of those on a stream.
  struct Recorded {
    std::string what;
    size_t stream = 0;
    uint32_t count = 0;
  };
  struct Graph {
    std::vector<Recorded> collectives;
    std::vector<cudaStream_t> streams;
    uint32_t* words = nullptr; // how many are done, by stream
  };
  /// A stream, and how many entries it has been given.
  struct Counter {
    cudaStream_t stream = nullptr;
    uint32_t count = 0;
  };
  /// So many streams, and of a graph, and graphs, are counted.
  static constexpr size_t mostCounters = 512, mostStreams = 8,
                          mostGraphs = 1024;

  device::HostWord record(cudaStream_t stream, std::string what);
  device::HostWord enter(cudaStream_t stream, std::string what, int recording);
  bool isDone(const Entry& entry) const;
  uint64_t doneOfOldest() const;
  std::string textOf(const Entry& entry) const;

  Watch* watch = nullptr;
  uint32_t* words = nullptr;     // of all streams, then of graphs; the host's
  std::vector<Counter> counters; // of the thread that notes
  bool isRecording = false;      // likewise
  std::mutex mutex;          // of what follows, never held in a call of CUDA
  std::list<Entry> underway; // the oldest first
  std::vector<Graph> graphs;
  uint64_t seen = 0; // of doneOfOldest
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_NCCLWATCH_H
