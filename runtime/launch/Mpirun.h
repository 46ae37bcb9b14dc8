// The command that starts the ranks of a plan.

#ifndef RECIPERUN_LAUNCH_MPIRUN_H
#define RECIPERUN_LAUNCH_MPIRUN_H

#include <string>
#include <vector>

namespace reciperun::launch {

/// `mpirun -np RANKS`, also for root, which Open MPI refuses otherwise.
std::vector<std::string> mpirun(int ranks);

/// Options for ranks that all run on this machine, which may have fewer cores.
std::vector<std::string> optionsHere(int ranks);

} // namespace reciperun::launch

#endif // RECIPERUN_LAUNCH_MPIRUN_H
