// Waiting for MPI that leaves the core to others.
//
// MPI's own waits look for messages without a pause, so that a rank that waits
// takes as much of the machine as one that computes. Here a rank looks without
// a pause for some microseconds, as long as a rank that keeps step needs; then
// it sleeps between two looks, for a share of the time that it has waited. So
// what a nap adds to a wait is a share of it, too.
//
// A large message may come in many pieces, for each of which both sides have to
// look. MPI does not tell of them, but a look that moves one takes long: the
// wait is taken for half as long then, instead of going on with a long nap for
// each piece.

#ifndef RECIPERUN_COMM_MPIWAIT_H
#define RECIPERUN_COMM_MPIWAIT_H

#include "runtime/base/Status.h"

#include <mpi.h>

#include <chrono>
#include <span>

namespace reciperun::comm {

/// The pause between two looks at what another rank does.
class Patience {
public:
  using Duration = std::chrono::steady_clock::duration;

  /// What to sleep after so long a wait; zero at first.
  static Duration napAfter(Duration waited);

  /// Returns when it is time to look again. The time since the last pause is
  /// that of a look.
  void pause();

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
  Clock::time_point lastPause = start;
  bool hasSlept = false; // in the last pause
};

/// Has this thread wake up when its naps are over: the system may be 50
/// microseconds late otherwise.
void wakeOnTime();

/// Waits until all requests are over. The message of a failure names `call`.
Status finishMpi(std::span<MPI_Request> requests, const char* call, int rank);

/// The same of the one request that `call` has begun, with `code`.
Status finishMpi(int code, MPI_Request& request, const char* call, int rank);

/// Waits until all ranks of the communicator call it, as before a collective
/// that MPI has in no other form than one that waits without a pause.
Status meetOn(MPI_Comm ranks, int rank);

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_MPIWAIT_H
