// Ends a job whose GPUs wait for a rank that does not come.
//
// A collective of GPUs is a kernel that waits for its other ranks, for as long
// as it takes: where one of them hangs, all others would wait for ever, their
// hosts in whatever call comes to need the GPU.
//
// 1. An event is recorded behind each collective and message.
// 2. A thread looks now and then which of them are done.
// 3. Where some are under way and none has ended for the limit, it tells which
//    is the oldest, with its op and ranks, and ends the process; mpirun ends
//    the others.

#ifndef RECIPERUN_COMM_NCCLWATCH_H
#define RECIPERUN_COMM_NCCLWATCH_H

#include "runtime/plan/Status.h"

#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <string>
#include <thread>

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
  void start(int rank, int device, Duration limit);

  /// Notes what has been enqueued last on a stream; `what` says what it is and
  /// with which ranks. Nothing is noted before the start.
  Status note(cudaStream_t stream, std::string what);

private:
  struct Entry {
    cudaEvent_t done = nullptr;
    std::string what;
  };

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
  std::thread thread;
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_NCCLWATCH_H
