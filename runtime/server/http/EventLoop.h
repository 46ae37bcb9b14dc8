// The event loop of the server's thread, on libevent.
//
// The thread that calls run() handles the sockets of its servers, posted work
// and timers, one after the other. Objects that belong to the server's thread
// therefore need no locks.

#ifndef RECIPERUN_SERVER_HTTP_EVENTLOOP_H
#define RECIPERUN_SERVER_HTTP_EVENTLOOP_H

#include "runtime/base/Status.h"

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

struct event;
struct event_base;

namespace reciperun::server {

/// If work throws an exception (out of memory), it is dropped with a line in
/// the log, and the loop continues.
class EventLoop {
public:
  /// Fails when the process has no descriptor left.
  static Expected<std::unique_ptr<EventLoop>> open();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;
  ~EventLoop();

  /// Handles events until stop() is called.
  void run();
  /// Ends run() once complete answers have been sent. Any thread may call it.
  void stop();
  /// Runs `work` on the loop's thread. Any thread may call it.
  void post(std::function<void()> work);
  /// Runs `work` on the loop's thread after `delay`. Only the loop's thread may
  /// call it, or any thread before run().
  void runAfter(std::chrono::microseconds delay, std::function<void()> work);
  /// Runs `work` on the loop's thread whenever the signal arrives, instead of
  /// the signal's default action. Only one loop of the process may use this,
  /// before run().
  void whenSignalled(int signal, std::function<void()> work);

  /// For the servers of this folder.
  event_base* base() const { return loop; }

private:
  struct Timer {
    EventLoop* loop = nullptr;
    std::function<void()> work;
    std::list<Timer>::iterator place = {}; // in `timers`
  };

  /// A signal that whenSignalled() watches.
  struct Watch {
    std::function<void()> work;
    event* arrival = nullptr;
  };

  EventLoop() = default;
  Status start();
  static void onTimer(int, short, void* timer);
  static void onSignal(int, short, void* watch);
  static void onWake(int descriptor, short what, void* self);
  void runPosted();
  void wake() const;

  event_base* loop = nullptr;
  event* woken = nullptr;
  int wakeDescriptor = -1;
  std::list<Timer> timers; // that have not expired
  std::list<Watch> watches;
  std::mutex mutex;
  std::vector<std::function<void()>> posted;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_HTTP_EVENTLOOP_H
