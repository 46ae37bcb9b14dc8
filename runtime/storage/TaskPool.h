// Threads that send and receive parts of objects.

#ifndef RECIPERUN_STORAGE_TASKPOOL_H
#define RECIPERUN_STORAGE_TASKPOOL_H

#include "runtime/base/Status.h"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace reciperun::storage {

/// Starts a thread when a task finds none idle, up to a number. The threads
/// take no signals. Tasks must not throw.
class TaskPool {
public:
  explicit TaskPool(int most) : most(size_t(most)) {}
  /// Waits for all tasks.
  ~TaskPool();

  size_t size() const { return most; }
  void submit(std::function<void()> task);

private:
  void work();

  size_t most;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;
  std::vector<std::thread> threads;
  size_t idle = 0;
  bool isEnding = false;
};

/// Calls `part(0)` ... `part(count - 1)` on the calling thread and those of the
/// pool. After a failure it begins no further call, and returns the failure.
Status inParallel(TaskPool& pool, size_t count,
                  const std::function<Status(size_t)>& part);

} // namespace reciperun::storage

#endif // RECIPERUN_STORAGE_TASKPOOL_H
