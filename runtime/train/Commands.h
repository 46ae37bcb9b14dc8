// The command line of reciperun. Each command has its own file, which declares
// the command and its arguments.

#ifndef RECIPERUN_TRAIN_COMMANDS_H
#define RECIPERUN_TRAIN_COMMANDS_H

#include "runtime/cli/Command.h"

#include <string>
#include <vector>

namespace reciperun::train {

/// Runs `arguments` (without the program's name) and returns the exit code: 0
/// success, 1 failure, 2 invalid command line, 3 a rank did not respond, 128 +
/// n ended by signal n after the step in progress. `serve` is the command of
/// that name.
int runCommand(const std::vector<std::string>& arguments, cli::Command serve);

cli::Command trainCommand();
cli::Command evalCommand();
cli::Command convertCommand();
cli::Command checkpointCommand();
cli::Command storageCommand();

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_COMMANDS_H
