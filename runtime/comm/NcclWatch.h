// Ends a job whose GPUs wait for a rank that does not come.
//
// A collective of GPUs is a kernel that waits for its other ranks, for as long
// as it takes: where one of them hangs, all others would wait for ever, their
// hosts in whatever call comes to need the GPU.
//
// 1. An event is recorded behind each collective and message.
// 2. A thread looks now and then which of them are done.
// 3. Of a graph one event is recorded, behind its launch; how far it is, it
//    counts in words of the host's, one for each stream.
// 4. Where some are under way and none has ended for the limit, it tells which
//    is the oldest, with its op and ranks, and ends the process; mpirun ends
//    the others.

#ifndef RECIPERUN_COMM_NCCLWATCH_H
#define RECIPERUN_COMM_NCCLWATCH_H

#include "runtime/plan/Status.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>

namespace reciperun::comm {

class NcclWatch {
public:
  using Duration = std::chrono::steady_clock::duration;

  NcclWatch() = default;
  NcclWatch(const NcclWatch&) = delete;
  NcclWatch& operator=(const NcclWatch&) = delete;
  ~NcclWatch();

  /// `RECIPERUN_COMM_TIMEOUT` in seconds, or 10 minutes: longer than what a
  /// rank does by itself between two collectives, such as reading a batch or
  /// computing a micro-batch.
  static Duration limitOfEnvironment();

  /// Begins to watch this rank's GPU.
  Status start(int rank, int device, Duration limit);

  /// Notes what has been enqueued last on a stream; `what` says what it is and
  /// with which ranks. Nothing is noted before the start.
  Status note(cudaStream_t stream, std::string what);

  /// What is noted from now on is recorded in a graph, which begins on the
  /// stream.
  Status beginRecording(cudaStream_t stream);
  /// The number of that graph, from 0.
  int endRecording();
  /// Notes that a graph has been enqueued last on a stream.
  Status noteLaunch(cudaStream_t stream, int recording);

private:
  struct Entry {
    cudaEvent_t done = nullptr;
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
  /// So many streams of a graph, and graphs, are counted.
  static constexpr size_t mostStreams = 8, mostGraphs = 1024;

  Status record(cudaStream_t stream, std::string what);
  Status enter(cudaStream_t stream, Entry entry);
  std::string awaited(const Entry& entry) const;

  void watch();
  void removeDone();
  [[noreturn]] void endJob() const;

  int rank = 0;
  int device = 0;
  Duration limit = {};
  std::mutex mutex; // of all that follows
  std::condition_variable stopped;
  bool isStopping = false;
  std::list<Entry> underway; // the oldest first
  std::list<Entry> free;     // events to be used again
  Duration waited = {};      // since something ended or was first under way
  bool isRecording = false;
  std::vector<Graph> graphs;
  uint32_t* words = nullptr; // of all graphs, on the host
  std::thread thread;
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_NCCLWATCH_H
