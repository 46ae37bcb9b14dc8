// The command line of reciperun.

#ifndef RECIPERUN_TRAIN_COMMANDS_H
#define RECIPERUN_TRAIN_COMMANDS_H

#include <string>
#include <vector>

namespace reciperun::train {

/// Carries out `arguments` (without the program's name) and returns the exit
/// code: 0 done, 1 failed, 2 a command line that makes no sense, 128 + n ended
/// by signal n after the step in progress.
int runCommand(const std::vector<std::string>& arguments);

/// `reciperun train PLAN [--progress=auto|bar|lines] [--dump-gradients=FILE]`.
int trainCommand(const std::vector<std::string>& arguments);

/// `reciperun eval PLAN [--checkpoint PATH|latest] [--json]`.
int evalCommand(const std::vector<std::string>& arguments);

/// `reciperun convert SOURCE TARGET [--to=hf|checkpoint|adapter]`.
int convertCommand(const std::vector<std::string>& arguments);

/// `reciperun checkpoint list|verify|prune|diff DIR`.
int checkpointCommand(const std::vector<std::string>& arguments);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_COMMANDS_H
