// See TaskPool.h.

#include "runtime/storage/TaskPool.h"

#include <algorithm>
#include <csignal>
#include <memory>

namespace reciperun::storage {
namespace {

/// The calls of one inParallel. Threads of the pool that come too late find
/// none left.
struct SharedCalls {
  SharedCalls(size_t count, const std::function<Status(size_t)>& part)
      : count(count), part(part) {}

  /// Makes calls until none is left.
  void run() {
    std::unique_lock lock(mutex);
    while (next < count && failure.isOk()) {
      const size_t number = next++;
      ++running;
      lock.unlock();
      const Status status = part(number);
      lock.lock();
      --running;
      if (failure.isOk())
        failure = status;
      changed.notify_all();
    }
  }

  Status wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return running == 0; });
    next = count;
    return failure;
  }

  const size_t count;
  const std::function<Status(size_t)> part;
  std::mutex mutex;
  std::condition_variable changed;
  size_t next = 0;
  size_t running = 0;
  Status failure;
};

} // namespace

TaskPool::~TaskPool() {
  {
    const std::lock_guard lock(mutex);
    isEnding = true;
  }
  changed.notify_all();
  for (std::thread& thread : threads)
    thread.join();
}

void TaskPool::submit(std::function<void()> task) {
  const std::lock_guard lock(mutex);
  tasks.push_back(std::move(task));
  if (idle >= tasks.size() || threads.size() == most) {
    changed.notify_one();
    return;
  }
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  threads.emplace_back([this] { work(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void TaskPool::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    ++idle;
    changed.wait(lock, [&] { return isEnding || !tasks.empty(); });
    --idle;
    if (tasks.empty())
      return;
    const std::function<void()> task = std::move(tasks.front());
    tasks.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

Status inParallel(TaskPool& pool, size_t count,
                  const std::function<Status(size_t)>& part) {
  const auto calls = std::make_shared<SharedCalls>(count, part);
  const size_t helpers = std::min(pool.size(), count) - (count > 0 ? 1 : 0);
  for (size_t i = 0; i < helpers; ++i)
    pool.submit([calls] { calls->run(); });
  calls->run();
  return calls->wait();
}

} // namespace reciperun::storage
