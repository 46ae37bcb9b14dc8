// A run of `reciperun bench COLLECTIVE` on connected ranks: the table, the
// JSON, the comparison and the exit code.

#ifndef RECIPERUN_BENCH_COLLECTIVES_COLLECTIVERUN_H
#define RECIPERUN_BENCH_COLLECTIVES_COLLECTIVERUN_H

#include "runtime/bench/collectives/CollectiveArguments.h"

namespace reciperun::bench {

/// What a run takes from the process.
struct CollectiveSurroundings {
  int ncclVersion = 0;                  // 0: not NCCL
  int place = 0;                        // the rank's index on its host
  std::vector<std::string> arguments;   // of the command line
  std::vector<std::string> environment; // `NAME=value`, without secrets
  /// NCCL_TESTS_MIN_BW; below 0: not set.
  double leastBandwidth = -1;
  /// Prints on rank 0.
  std::function<void(const std::string&)> print;
  /// Ends the job because of a failure that only this rank knows.
  std::function<void(const Status&)> failAlone;
};

/// Measures all kinds and prints the results. Group `group` of the communicator
/// has all ranks. Returns the exit code. Collective; fails on all ranks with
/// one message.
Expected<int> runCollectiveBench(const CollectiveArguments& arguments,
                                 device::Device& device,
                                 comm::Communicator& communicator, int group,
                                 const CollectiveSurroundings& surroundings);

/// The variables of an environment that describe a run: those of MPI, NCCL,
/// CUDA, the network libraries, the scheduler and reciperun. The values of
/// names that may be secrets are left out.
std::vector<std::string>
describingVariables(const std::vector<std::string>& environment);

} // namespace reciperun::bench

#endif // RECIPERUN_BENCH_COLLECTIVES_COLLECTIVERUN_H
