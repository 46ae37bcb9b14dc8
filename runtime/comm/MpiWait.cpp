// See MpiWait.h.

#include "runtime/comm/MpiWait.h"

#include "runtime/comm/MpiCheck.h"

#include <sys/prctl.h>

#include <algorithm>
#include <thread>

namespace reciperun::comm {

Patience::Duration Patience::napAfter(Duration waited) {
  using std::chrono::microseconds;
  constexpr Duration awake = microseconds(100);
  constexpr Duration shortest = microseconds(10), longest = microseconds(5000);
  if (waited < awake)
    return Duration::zero();
  return std::clamp(waited / 16, shortest, longest);
}

void Patience::pause() {
  // A poll that finds nothing takes less than a microsecond. It takes a little
  // longer after a nap, when other processes have used the caches. A poll that
  // was preempted takes long too: one of these halves the time waited, and only
  // many of them end the naps.
  const Duration longLook = std::chrono::microseconds(hasSlept ? 15 : 3);
  const Clock::time_point now = Clock::now();
  if (now - lastPause > longLook)
    start += (now - start) / 2;
  lastPause = now;
  const Duration nap = napAfter(now - start);
  hasSlept = nap > Duration::zero();
  if (!hasSlept)
    return;
  std::this_thread::sleep_for(nap);
  lastPause = Clock::now();
}

void wakeOnTime() {
  constexpr unsigned long nanoseconds = 1000;
  prctl(PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0); // failure: naps end late
}

Status finishMpi(std::span<MPI_Request> requests, const char* call, int rank) {
  Patience patience;
  while (true) {
    int areOver = 0;
    RECIPERUN_TRY(checkMpi(MPI_Testall(int(requests.size()), requests.data(),
                                       &areOver, MPI_STATUSES_IGNORE),
                           call, rank));
    if (areOver)
      return Status::ok();
    patience.pause();
  }
}

Status finishMpi(int code, MPI_Request& request, const char* call, int rank) {
  RECIPERUN_TRY(checkMpi(code, call, rank));
  return finishMpi({&request, 1}, call, rank);
}

Status meetOn(MPI_Comm ranks, int rank) {
  MPI_Request request = MPI_REQUEST_NULL;
  return finishMpi(MPI_Ibarrier(ranks, &request), request, "MPI_Ibarrier",
                   rank);
}

} // namespace reciperun::comm
