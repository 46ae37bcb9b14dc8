// What users of other programs write on the command line of recipec, and what
// to write here.

#ifndef RECIPEC_DRIVER_FOREIGNUSAGE_H
#define RECIPEC_DRIVER_FOREIGNUSAGE_H

#include "runtime/cli/Command.h"

namespace recipec::driver {

namespace cli = reciperun::cli;

/// The commands of other programs.
std::vector<cli::ForeignCommand> foreignCommands();
/// The remedy for a word that is no command: a file, say.
std::string adviseCommand(const std::string& word);
/// The remedy for an option that `command` lacks.
std::string adviseOption(const cli::Command& command,
                         const cli::UnknownOption& option);
/// The same for an option that is neither misspelt nor similar to another: the
/// nearest setting of the recipe.
std::string adviseOtherOption(const cli::Command& command,
                              const cli::UnknownOption& option);
/// For `plan FILE NAME` the name of the recipe behind its file.
std::string adviseSurplus(const cli::Command& command,
                          const std::vector<std::string>& operands);
/// Refuses a setting that stands where a file is due: `parallel.tp=2`.
cli::Check refuseSetting(const cli::Command& command,
                         const std::string& operand);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_FOREIGNUSAGE_H
