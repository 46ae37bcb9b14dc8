// The command that starts the ranks of a plan.

#ifndef RECIPERUN_LAUNCH_MPIRUN_H
#define RECIPERUN_LAUNCH_MPIRUN_H

#include <string>
#include <vector>

namespace reciperun::launch {

/// How mpirun starts the ranks of a job.
struct MpirunOptions {
  std::string hostfile;            // empty: `others` or this machine
  std::vector<std::string> others; // options that the user gives
  /// Hides what mpirun prints when a rank fails. Ranks print the cause
  /// themselves.
  bool isQuiet = true;
};

/// mpirun and its options, which the command of the ranks follows. Root may run
/// it, and ranks that all run on this machine may be more than its cores. Ranks
/// are not bound to cores unless `others` does: reciperun divides the cores
/// itself.
std::vector<std::string> mpirun(int ranks, const MpirunOptions& options);

} // namespace reciperun::launch

#endif // RECIPERUN_LAUNCH_MPIRUN_H
