// Helps with commands and options of other programs on the command line of
// recipec.

#ifndef RECIPEC_DRIVER_FOREIGNUSAGE_H
#define RECIPEC_DRIVER_FOREIGNUSAGE_H

#include "runtime/cli/Command.h"

namespace recipec::driver {

namespace cli = reciperun::cli;

/// The commands of other programs.
std::vector<cli::ForeignCommand> foreignCommands();
/// The help for a word that is not a command, such as a file.
std::string adviseCommand(const std::string& word);
/// The help for an option that `command` does not have.
std::string adviseOption(const cli::Command& command,
                         const cli::UnknownOption& option);
/// The help for an option that is neither misspelt nor similar to one of
/// `command`: the nearest setting of the recipe.
std::string adviseOtherOption(const cli::Command& command,
                              const cli::UnknownOption& option);
/// The help for `plan FILE NAME`: the recipe's name follows the file as
/// `FILE:NAME`.
std::string adviseSurplus(const cli::Command& command,
                          const std::vector<std::string>& operands);
/// Rejects a setting such as `parallel.tp=2` in place of a file.
cli::Check refuseSetting(const cli::Command& command,
                         const std::string& operand);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_FOREIGNUSAGE_H
