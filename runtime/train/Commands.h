// The command line of reciperun: each file declares its command, with what it
// takes.

#ifndef RECIPERUN_TRAIN_COMMANDS_H
#define RECIPERUN_TRAIN_COMMANDS_H

#include "runtime/cli/Command.h"

#include <string>
#include <vector>

namespace reciperun::train {

/// Carries out `arguments` (without the program's name) and returns the exit
/// code: 0 done, 1 failed, 2 a command line that makes no sense, 128 + n ended
/// by signal n after the step in progress.
int runCommand(const std::vector<std::string>& arguments);

cli::Command trainCommand();
cli::Command evalCommand();
cli::Command convertCommand();
cli::Command checkpointCommand();

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_COMMANDS_H
