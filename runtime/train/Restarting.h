// `reciperun train --restarts N`: starts the ranks, and starts them again after
// a failure, from the last checkpoint.
//
// A run is worth another start if a rank was ended by a signal or did not
// respond, or if a checkpoint was saved since the last start. A failure that
// comes again without progress, such as a damaged file, ends it.
//
// A run with several plans (Layouts.h) takes the widest that the hosts have
// slots for, at each start: the host file is read again, and hosts that do not
// answer are left out.

#ifndef RECIPERUN_TRAIN_RESTARTING_H
#define RECIPERUN_TRAIN_RESTARTING_H

#include "runtime/train/Layouts.h"
#include "runtime/train/Report.h"

#include <string>
#include <vector>

namespace reciperun::train {

struct Restarting {
  int most = 0;
  std::string hostfile;              // for mpirun; empty: this machine
  std::vector<std::string> passedOn; // options of mpirun
  Style style = Style::automatic;    // of the ranks' progress
};

/// Runs the plans, which are of one run, on ranks that have the command line of
/// this process with one of the plans and without the options of `restarting`.
/// Returns the exit code of the last start.
int trainAgain(std::vector<Layout> layouts, const Restarting& restarting);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_RESTARTING_H
