// See EventLoop.h. An eventfd wakes the loop for posted work.

#include "runtime/server/http/EventLoop.h"

#include "runtime/base/Log.h"

#include <event2/event.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

namespace reciperun::server {
namespace {

timeval timevalOf(std::chrono::microseconds time) {
  constexpr int64_t second = 1'000'000;
  return {.tv_sec = time.count() / second, .tv_usec = time.count() % second};
}

/// Lines of libevent, which warns of what the environment does.
void logOfLibevent(int severity, const char* message) {
  if (severity != EVENT_LOG_DEBUG)
    logLine(severity == EVENT_LOG_ERR ? LogLevel::error : LogLevel::debug,
            "libevent: " + std::string(message));
}

void runSafely(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& failure) {
    logLine(LogLevel::error,
            "a step of the server failed: " + std::string(failure.what()));
  }
}

} // namespace

Expected<std::unique_ptr<EventLoop>> EventLoop::open() {
  std::unique_ptr<EventLoop> made(new EventLoop);
  RECIPERUN_TRY(made->start());
  return made;
}

Status EventLoop::start() {
  event_set_log_callback(logOfLibevent);
  loop = event_base_new();
  wakeDescriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (!loop || wakeDescriptor < 0)
    return Status::error("cannot open an event loop: " +
                         std::string(std::strerror(errno)));
  woken = event_new(loop, wakeDescriptor, EV_READ | EV_PERSIST, onWake, this);
  event_add(woken, nullptr);
  return Status::ok();
}

EventLoop::~EventLoop() {
  for (const Watch& each : watches)
    if (each.arrival)
      event_free(each.arrival);
  if (woken)
    event_free(woken);
  if (loop)
    event_base_free(loop);
  if (wakeDescriptor >= 0)
    close(wakeDescriptor);
}

void EventLoop::run() {
  event_base_dispatch(loop);
}

void EventLoop::stop() {
  // A moment in which complete answers go out.
  post([this] {
    constexpr timeval moment = {0, 100'000};
    event_base_loopexit(loop, &moment);
  });
}

void EventLoop::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex);
    posted.push_back(std::move(work));
  }
  wake();
}

void EventLoop::runAfter(std::chrono::microseconds delay,
                         std::function<void()> work) {
  const auto timer =
      timers.insert(timers.end(), {.loop = this, .work = std::move(work)});
  timer->place = timer;
  const timeval time = timevalOf(delay);
  event_base_once(loop, -1, EV_TIMEOUT, onTimer, &*timer, &time);
}

void EventLoop::onTimer(int, short, void* expired) {
  auto& timer = *static_cast<Timer*>(expired);
  const std::function<void()> work = std::move(timer.work);
  timer.loop->timers.erase(timer.place);
  runSafely(work);
}

void EventLoop::whenSignalled(int signal, std::function<void()> work) {
  Watch& watch = watches.emplace_back(Watch{.work = std::move(work)});
  watch.arrival = evsignal_new(loop, signal, onSignal, &watch);
  if (watch.arrival)
    event_add(watch.arrival, nullptr);
}

void EventLoop::onSignal(int, short, void* arrived) {
  runSafely(static_cast<Watch*>(arrived)->work);
}

void EventLoop::wake() const {
  const uint64_t one = 1;
  // A full counter has woken the loop already.
  [[maybe_unused]] const ssize_t written =
      ::write(wakeDescriptor, &one, sizeof one);
}

void EventLoop::onWake(int descriptor, short, void* self) {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(descriptor, &count, sizeof count);
  static_cast<EventLoop*>(self)->runPosted();
}

void EventLoop::runPosted() {
  std::vector<std::function<void()>> works;
  {
    const std::lock_guard lock(mutex);
    works.swap(posted);
  }
  for (const auto& work : works)
    runSafely(work);
}

} // namespace reciperun::server
