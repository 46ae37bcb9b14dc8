// An event loop on a thread of its own, for tests of what belongs to it.

#ifndef RECIPERUN_TEST_SERVER_LOOPTHREAD_H
#define RECIPERUN_TEST_SERVER_LOOPTHREAD_H

#include "runtime/server/http/EventLoop.h"

#include <future>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>

namespace reciperun::server {

class LoopThread {
public:
  LoopThread() : loop(*EventLoop::open()), thread([this] { loop->run(); }) {}
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;
  ~LoopThread() {
    loop->stop();
    thread.join();
  }

  EventLoop& get() { return *loop; }

  /// Runs `work` on the loop's thread and returns its result.
  template <class Work> auto call(Work work) {
    using Result = std::invoke_result_t<Work>;
    std::packaged_task<Result()> task(std::move(work));
    std::future<Result> result = task.get_future();
    loop->post([&task] { task(); });
    return result.get();
  }

private:
  std::unique_ptr<EventLoop> loop;
  std::thread thread;
};

} // namespace reciperun::server

#endif // RECIPERUN_TEST_SERVER_LOOPTHREAD_H
