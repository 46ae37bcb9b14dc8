// See WorkerThreads.h.

#include "runtime/server/front/WorkerThreads.h"

#include "runtime/comm/ThreadWithoutSignals.h"
#include "runtime/server/http/EventLoop.h"

#include <utility>

namespace reciperun::server {

WorkerThreads::WorkerThreads(size_t count) {
  for (size_t i = 0; i < count; ++i)
    threads.push_back(comm::threadWithoutSignals([this] { work(); }));
}

WorkerThreads::~WorkerThreads() {
  {
    const std::lock_guard lock(mutex);
    isStopping = true;
  }
  changed.notify_all();
  for (std::thread& thread : threads)
    thread.join();
}

void WorkerThreads::run(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex);
    waiting.push_back(std::move(work));
  }
  changed.notify_one();
}

void WorkerThreads::run(std::function<void()> work, EventLoop& loop,
                        std::function<void()> then) {
  run([&loop, work = std::move(work), then = std::move(then)]() mutable {
    std::exchange(work, {})();
    loop.post(std::move(then));
  });
}

void WorkerThreads::work() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return isStopping || !waiting.empty(); });
    if (isStopping)
      return;
    const std::function<void()> next = std::move(waiting.front());
    waiting.pop_front();
    lock.unlock();
    next();
    lock.lock();
  }
}

} // namespace reciperun::server
