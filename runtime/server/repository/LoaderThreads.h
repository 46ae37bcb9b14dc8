// Threads that load models in the background.

#ifndef RECIPERUN_SERVER_REPOSITORY_LOADERTHREADS_H
#define RECIPERUN_SERVER_REPOSITORY_LOADERTHREADS_H

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace reciperun::server {

class LoaderThreads {
public:
  explicit LoaderThreads(size_t count);
  LoaderThreads(const LoaderThreads&) = delete;
  LoaderThreads& operator=(const LoaderThreads&) = delete;
  /// Waits for the work that has begun and drops the rest.
  ~LoaderThreads();

  /// Runs `work`, which must not throw, on one of the threads.
  void run(std::function<void()> work);

private:
  void work();

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> waiting;
  bool isStopping = false;
  std::vector<std::thread> threads;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_REPOSITORY_LOADERTHREADS_H
