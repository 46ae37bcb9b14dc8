// Decides when a server stops, and ends a server whose engine hangs.
//
// A step of the engine waits for all ranks of the model. If one of them hangs
// or has died, the engine's thread waits forever. The front's thread therefore
// watches the stop signals and the duration of the step.

#ifndef RECIPERUN_SERVER_COMMANDS_SHUTDOWN_H
#define RECIPERUN_SERVER_COMMANDS_SHUTDOWN_H

#include "runtime/base/Status.h"
#include "runtime/server/front/EngineQueue.h"
#include "runtime/server/http/EventLoop.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>

namespace reciperun::server {

struct ShutdownSettings {
  std::chrono::seconds drain{30}; // for open answers after a stop signal
  std::chrono::seconds step{600}; // that a step may take
  /// Whether this process is one of several ranks that mpirun started. mpirun
  /// kills its ranks a second after it sends SIGTERM, which it does when it is
  /// stopped and when a rank has ended. SIGUSR1 leaves them the time `drain`.
  bool isPartOfJob = false;
};

class Shutdown {
public:
  /// What the front does, on its thread.
  struct Actions {
    std::function<void()> drain;                   // refuses new requests
    std::function<bool()> isIdle;                  // whether no answer is open
    std::function<void(const Status&)> failEngine; // ends the open answers
  };

  /// `loop` and `queue` must outlive the object.
  Shutdown(const ShutdownSettings& settings, EventLoop& loop,
           EngineQueue& queue, Actions actions);

  /// Watches the signals and the engine from now on. Call it on the front's
  /// thread, or before that starts.
  void begin();
  /// Stops the server because it cannot continue.
  void fail(const Status& why);

  // Any thread may call these.

  /// Whether the server stops now.
  bool isDue() const { return isOver; }
  /// How it has ended: ok when all answers are complete.
  Status outcome() const;

private:
  using Clock = std::chrono::steady_clock;

  void look();
  void noteSignal(Clock::time_point now);
  void checkDrain(Clock::time_point now);
  void checkEngine(Clock::time_point now);
  Clock::duration timeToDrain() const;
  void end(const Status& how);
  void abandon(const Status& why);

  ShutdownSettings settings;
  EventLoop& loop;
  EngineQueue& queue;
  Actions actions;
  // These belong to the front's thread.
  int signal = 0; // the first that asked for a stop
  std::optional<Clock::time_point> signalTime, endTime;

  std::atomic<bool> isOver = false;
  mutable std::mutex mutex; // of `ended`
  Status ended;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_COMMANDS_SHUTDOWN_H
