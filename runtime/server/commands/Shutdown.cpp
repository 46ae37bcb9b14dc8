// See Shutdown.h.

#include "runtime/server/commands/Shutdown.h"

#include "runtime/base/Log.h"
#include "runtime/base/StopSignal.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>

namespace reciperun::server {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds lookInterval(50);
/// The part of the second between mpirun's SIGTERM and SIGKILL that open
/// answers get.
constexpr milliseconds timeBeforeKill(500);
/// The time for the engine's thread to end and for errors to reach the clients.
constexpr milliseconds timeToEnd(250);

std::string secondsOf(std::chrono::seconds time) {
  return std::to_string(time.count()) + " s";
}

} // namespace

Shutdown::Shutdown(const ShutdownSettings& settings, EventLoop& loop,
                   EngineQueue& queue, Actions actions)
    : settings(settings), loop(loop), queue(queue),
      actions(std::move(actions)) {}

void Shutdown::begin() {
  loop.runAfter(lookInterval, [this] {
    look();
    begin();
  });
}

void Shutdown::fail(const Status& why) {
  end(why);
}

Status Shutdown::outcome() const {
  const std::lock_guard lock(mutex);
  return ended;
}

void Shutdown::look() {
  const Clock::time_point now = Clock::now();
  noteSignal(now);
  checkDrain(now);
  checkEngine(now);
}

void Shutdown::noteSignal(Clock::time_point now) {
  if (signal != 0 || stopSignal() == 0)
    return;
  signal = stopSignal();
  signalTime = now;
  logLine(LogLevel::info,
          "stopping; open answers are completed, new requests refused");
  actions.drain();
}

void Shutdown::checkDrain(Clock::time_point now) {
  if (!signalTime || endTime)
    return;
  if (actions.isIdle())
    return end({});
  if (now - *signalTime < timeToDrain())
    return;
  const bool isKilled = timeToDrain() < settings.drain;
  const Status late =
      isKilled ? Status::error("mpirun ends the job, because a rank has ended "
                               "or mpirun was stopped; open answers were cut "
                               "off")
               : Status::error("open answers took longer than the " +
                               secondsOf(settings.drain) +
                               " of `--drain-timeout` and were cut off");
  abandon(late);
}

/// A step cannot be interrupted. If it takes too long, the process exits during
/// it.
void Shutdown::checkEngine(Clock::time_point now) {
  const Clock::duration step = queue.stepTime();
  const bool isLost = step > settings.step;
  if (!endTime && isLost)
    abandon(Status::error("a step of the engine has not ended within the " +
                          secondsOf(settings.step) + " of `--step-timeout`"));
  if (!endTime || now - *endTime < timeToEnd || step < timeToEnd)
    return;
  const Status how = outcome();
  if (how.isOk() && !isLost) // all answers are complete: no hurry
    return;
  if (!how.isOk())
    logLine(LogLevel::error, how.message());
  std::_Exit(1);
}

Shutdown::Clock::duration Shutdown::timeToDrain() const {
  const Clock::duration given = settings.drain;
  return settings.isPartOfJob && signal == SIGTERM
             ? std::min<Clock::duration>(given, timeBeforeKill)
             : given;
}

void Shutdown::end(const Status& how) {
  if (!endTime)
    endTime = Clock::now();
  const std::lock_guard lock(mutex);
  if (!isOver)
    ended = how;
  isOver = true;
}

void Shutdown::abandon(const Status& why) {
  actions.failEngine(why);
  end(why);
}

} // namespace reciperun::server
