// Ends a job in which a rank waits for another rank that does not respond.
//
// If a rank hangs or its host stops, all other ranks wait forever in the middle
// of a collective: their hosts in an MPI call, their GPUs in a kernel.
//
// 1. The host declares each wait while it lasts (Watch::Wait). A Lookout knows
//    what a GPU waits for.
// 2. A thread checks from time to time. It makes no call that could block,
//    neither to MPI nor to the GPU's driver, whose locks other threads may
//    hold.
// 3. When a wait makes no progress for the limit, the thread prints the op,
//    group and ranks, which processes of them on this host are stopped, and the
//    stack of the thread that waits. After a moment, in which other ranks do
//    the same, it ends the process. mpirun then ends the others. While ranks
//    keep pace the limit is much shorter (Watch::Pace).

#ifndef RECIPERUN_COMM_WATCH_H
#define RECIPERUN_COMM_WATCH_H

#include "runtime/base/Status.h"
#include "runtime/comm/StackTrace.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace reciperun::comm {

/// The exit code of a rank that has waited too long for another one.
inline constexpr int exitUnresponsive = 3;

/// Knows what a device waits for. Called from the watch's thread.
class Lookout {
public:
  virtual ~Lookout() = default;
  /// Whether an awaited operation has completed since the last call.
  virtual bool hasMoved() = 0;
  /// The operation awaited longest; empty when there is none.
  virtual std::string awaited() = 0;
};

/// What the host waits for: `all-reduce` for op `embed` by group `dp` of ranks
/// 0, 1. The strings outlive the wait. All but the first may be empty.
struct Awaited {
  std::string_view what;
  std::string_view op;
  std::string_view who;
  /// This rank's own failure, which it is telling the other ranks. Printed if
  /// they do not respond.
  std::string_view failure = {};
};
std::string textOf(const Awaited& awaited);

/// A rank of this host.
struct HostRank {
  int rank = 0;
  int process = 0; // its id
};
/// `is stopped`, `has ended` or `waits for a device`, where the system says so
/// of a process; empty otherwise.
std::string stateOfProcess(int process);

class Watch {
public:
  using Duration = std::chrono::steady_clock::duration;

  /// Watches this rank from now on and checks once per `pause`. `limit`
  /// overrides all bounds of waits and paces. Without it the limit is 10
  /// minutes, longer than a rank works between two collectives, for example to
  /// write a checkpoint or to compute on a CPU.
  Watch(int rank, std::optional<Duration> limit,
        Duration pause = std::chrono::milliseconds(500));
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

  /// `RECIPERUN_COMM_TIMEOUT` in seconds; nullopt when it is not set.
  static Expected<std::optional<Duration>> limitOfEnvironment();

  /// The host waits during the lifetime of this object. Waits may nest. A null
  /// watch is allowed and does nothing.
  class Wait {
  public:
    /// `bound` limits this wait; for nested waits the smallest bound applies.
    Wait(Watch* watch, const Awaited& awaited,
         Duration bound = Duration::max());
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    ~Wait();

  private:
    Watch* watch;
  };

  /// During the lifetime of this object, `bound` limits every wait if it is
  /// set. A null watch is allowed and does nothing.
  class Pace {
  public:
    Pace(Watch* watch, std::optional<Duration> bound);
    Pace(const Pace&) = delete;
    Pace& operator=(const Pace&) = delete;
    ~Pace();

  private:
    Watch* watch;
  };

  /// The other ranks of this host, whose states are reported.
  void know(std::vector<HostRank> others);

  /// Registers a lookout that the watch asks, or removes it.
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
  void printCircumstances() const;

  const int rank;
  const std::optional<Duration> limit;
  const Duration pause;
  std::mutex mutex; // for the members below
  std::condition_variable stopped;
  bool isStopping = false;
  std::optional<Duration> pace; // the bound of the current Pace
  std::vector<Waiting> waits;   // innermost last
  bool hasHostMoved = false;    // since the last check
  std::vector<Lookout*> lookouts;
  std::vector<HostRank> neighbours;
  const StackTrace stack; // of the thread that has made the watch
  std::thread thread;
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_WATCH_H
