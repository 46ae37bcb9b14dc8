// What users of other programs write on the command line of reciperun, and what
// to write here.

#ifndef RECIPERUN_TRAIN_FOREIGNUSAGE_H
#define RECIPERUN_TRAIN_FOREIGNUSAGE_H

#include "runtime/cli/Command.h"

#include <string>
#include <vector>

namespace reciperun::train {

/// The commands of other programs.
std::vector<cli::ForeignCommand> foreignCommands();
/// The remedy for a word that is no command: a plan or a recipe.
std::string adviseCommand(const std::string& word);
/// The remedy for an option that `command` lacks.
std::string adviseOption(const cli::Command& command,
                         const cli::UnknownOption& option);
/// The same for an option that is neither misspelt nor similar to another.
std::string adviseOtherOption(const cli::Command& command,
                              const cli::UnknownOption& option);
/// The remedy for a value that an option of `command` does not take.
std::string adviseValue(const cli::Command& command, const cli::Option& option,
                        const std::string& value,
                        const std::vector<std::string>& operands);
/// For `generate DIR TEXT` the option of the prompt.
std::string adviseSurplus(const cli::Command& command,
                          const std::vector<std::string>& operands);
/// Refuses an address in place of a path, a recipe in place of a plan, and a
/// setting behind a plan: `parallel.tp=2`.
cli::Check refuseOperand(const cli::Command& command,
                         const std::string& operand);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_FOREIGNUSAGE_H
