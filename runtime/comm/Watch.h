// Ends a job in which a rank waits for another one that does not come.
//
// A rank that hangs, or whose host has stopped, leaves all others in the midst
// of a collective: their hosts in a call of MPI, their GPUs in a kernel that
// waits, for ever.
//
// 1. The host says what it waits for as long as it does (Watch::Wait). What a
//    GPU waits for, a lookout knows.
// 2. A thread looks now and then. It calls nothing that may have to wait
//    itself: neither MPI nor the GPU's driver, which other threads may hold.
// 3. Where something is awaited and nothing has come for the limit, it tells
//    which op, group and ranks it is, and ends the process; mpirun ends the
//    others. Where ranks keep pace the limit is much shorter (Watch::Pace).

#ifndef RECIPERUN_COMM_WATCH_H
#define RECIPERUN_COMM_WATCH_H

#include "runtime/base/Status.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace reciperun::comm {

/// Knows what a device waits for. The watch's thread asks.
class Lookout {
public:
  virtual ~Lookout() = default;
  /// Whether something that was awaited has come since the last call.
  virtual bool hasMoved() = 0;
  /// What is awaited longest; empty where nothing is.
  virtual std::string awaited() = 0;
};

/// What the host waits for: `all-reduce` for op `embed` by group `dp` of ranks
/// 0, 1. The names outlive the waiting; all but the first may be empty.
struct Awaited {
  std::string_view what;
  std::string_view op;
  std::string_view who;
  /// What the others are to hear of: told where they do not come.
  std::string_view failure = {};
};
std::string textOf(const Awaited& awaited);

class Watch {
public:
  using Duration = std::chrono::steady_clock::duration;

  /// Watches this rank from now on, with a pause between two looks. A limit
  /// goes before all bounds of waits and paces. Without one it is 10 minutes,
  /// longer than what a rank does by itself between two collectives, such as
  /// writing a checkpoint or computing on a CPU.
  Watch(int rank, std::optional<Duration> limit,
        Duration pause = std::chrono::milliseconds(500));
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

  /// `RECIPERUN_COMM_TIMEOUT` in seconds, where it is set.
  static Expected<std::optional<Duration>> limitOfEnvironment();

  /// The host waits as long as it lives. A wait may lie in another one. Without
  /// a watch, null, nobody looks.
  class Wait {
  public:
    /// Of a wait with a bound of its own the least counts.
    Wait(Watch* watch, const Awaited& awaited,
         Duration bound = Duration::max());
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    ~Wait();

  private:
    Watch* watch;
  };

  /// As long as it lives, nothing is waited for longer than its bound, if it
  /// has one. Without a watch, null, nobody looks.
  class Pace {
  public:
    Pace(Watch* watch, std::optional<Duration> bound);
    Pace(const Pace&) = delete;
    Pace& operator=(const Pace&) = delete;
    ~Pace();

  private:
    Watch* watch;
  };

  /// Asks a lookout, too; and no longer, when it goes.
  void add(Lookout& lookout);
  void remove(Lookout& lookout);

private:
  struct Waiting {
    Awaited awaited;
    Duration bound;
  };

  void watch();
  bool hasMoved();
  std::string awaited() const;
  Duration presentLimit() const;
  std::string_view failure() const;
  [[noreturn]] void endJob(const std::string& what) const;

  const int rank;
  const std::optional<Duration> limit;
  const Duration pause;
  std::mutex mutex; // of all that follows
  std::condition_variable stopped;
  bool isStopping = false;
  std::optional<Duration> pace; // the bound of a Pace that lives
  std::vector<Waiting> waits;   // the innermost last
  bool hasHostMoved = false;    // since the last look
  std::vector<Lookout*> lookouts;
  std::thread thread;
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_WATCH_H
