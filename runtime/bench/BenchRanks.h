// The start of a measurement on all ranks that mpirun starts: MPI, a device
// for each rank, and one group of all ranks.

#ifndef RECIPERUN_BENCH_BENCHRANKS_H
#define RECIPERUN_BENCH_BENCHRANKS_H

#include "runtime/comm/MpiSession.h"
#include "runtime/exec/RankDevice.h"

#include <functional>
#include <string>

namespace reciperun::bench {

/// The communicator's group of all ranks.
inline constexpr int everyRank = 0;

/// A rank of the measurement.
struct BenchRank {
  device::Device& device;
  comm::Communicator& communicator;
  bool isGpu = false;
  int place = 0; // the rank's index on its host
  /// Ends the job because of a failure that only this rank knows.
  std::function<void(const Status&)> failAlone;
};

struct BenchStart {
  std::string device; // `cuda` or `cpu`; empty: what the program is built for
  /// Refuses a call before a device is opened; may be empty.
  std::function<Status()> check = {};
  /// Returns the exit code. Fails on all ranks with one message.
  std::function<Expected<int>(const BenchRank&)> run;
};

/// Runs a measurement on this rank and returns the exit code. A failure is
/// printed once.
int runOnRanks(const BenchStart& start);

} // namespace reciperun::bench

#endif // RECIPERUN_BENCH_BENCHRANKS_H
