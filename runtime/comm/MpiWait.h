// Waits for MPI requests in a way that yields the core to other threads.
//
// MPI's own waits poll without a pause, so that a waiting rank uses as much CPU
// as a computing one. Here a rank first polls without a pause for some
// microseconds, long enough for ranks that keep pace. Then it sleeps between
// two polls for a fraction of the time it has waited. A nap therefore adds only
// a small fraction to a wait.
//
// A large message may arrive in many pieces, and both sides have to poll for
// each. MPI does not report the pieces, but a poll that moves one takes long.
// The time waited is then halved, so that naps stay short while pieces arrive.

#ifndef RECIPERUN_COMM_MPIWAIT_H
#define RECIPERUN_COMM_MPIWAIT_H

#include "runtime/base/Status.h"

#include <mpi.h>

#include <chrono>
#include <span>

namespace reciperun::comm {

/// Pauses between two polls.
class Patience {
public:
  using Duration = std::chrono::steady_clock::duration;

  /// The nap after a wait of `waited`; zero at first.
  static Duration napAfter(Duration waited);

  /// Sleeps if necessary and returns when it is time to poll again. The time
  /// since the last pause is the duration of a poll.
  void pause();

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
  Clock::time_point lastPause = start;
  bool hasSlept = false; // in the last pause
};

/// Lets this thread wake up from naps on time. By default the system may be 50
/// microseconds late.
void wakeOnTime();

/// Waits until all requests are complete. The message of a failure names
/// `call`.
Status finishMpi(std::span<MPI_Request> requests, const char* call, int rank);

/// Waits for the request that `call` has started. `code` is what `call`
/// returned.
Status finishMpi(int code, MPI_Request& request, const char* call, int rank);

/// Waits until all ranks of the communicator call it. Used before a collective
/// that MPI offers only in a blocking form.
Status meetOn(MPI_Comm ranks, int rank);

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_MPIWAIT_H
