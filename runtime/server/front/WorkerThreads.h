// Threads for work that would hold the server's thread up: loading models,
// compiling grammars.

#ifndef RECIPERUN_SERVER_FRONT_WORKERTHREADS_H
#define RECIPERUN_SERVER_FRONT_WORKERTHREADS_H

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace reciperun::server {

class EventLoop;

/// Runs `work`, which must not throw, on another thread, then `then` on the
/// server's.
using RunInBackground =
    std::function<void(std::function<void()> work, std::function<void()> then)>;

class WorkerThreads {
public:
  explicit WorkerThreads(size_t count);
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;
  /// Waits for the work that has begun and drops the rest.
  ~WorkerThreads();

  /// Runs `work`, which must not throw, on one of the threads.
  void run(std::function<void()> work);
  /// Runs `work`, which must not throw, on one of the threads, then `then` on
  /// the loop's. What both hold is destroyed by the loop's thread.
  void run(std::function<void()> work, EventLoop& loop,
           std::function<void()> then);

private:
  void work();

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> waiting;
  bool isStopping = false;
  std::vector<std::thread> threads;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_FRONT_WORKERTHREADS_H
