// Suggests an option for an unknown one, by comparing words.

#ifndef RECIPERUN_CLI_NEARESTOPTION_H
#define RECIPERUN_CLI_NEARESTOPTION_H

#include "runtime/cli/Command.h"

#include <string>

namespace reciperun::cli {

/// Names the one or two options of the command whose names and help texts are
/// nearest to the words of `name`; empty if none is clearly nearer than the
/// rest.
std::string nearestOption(const Command& command, const std::string& name);

} // namespace reciperun::cli

#endif // RECIPERUN_CLI_NEARESTOPTION_H
