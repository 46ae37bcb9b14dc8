// Recognizes commands, options and values of other programs on the command line
// of reciperun, and suggests what to write instead.

#ifndef RECIPERUN_TRAIN_FOREIGNUSAGE_H
#define RECIPERUN_TRAIN_FOREIGNUSAGE_H

#include "runtime/cli/Command.h"

#include <string>
#include <vector>

namespace reciperun::train {

/// The commands of other programs, with the equivalent commands here.
std::vector<cli::ForeignCommand> foreignCommands();
/// The remedy for a word that is not a command but, for example, a plan or a
/// recipe.
std::string adviseCommand(const std::string& word);
/// The remedy for an option that `command` lacks.
std::string adviseOption(const cli::Command& command,
                         const cli::UnknownOption& option);
/// Like adviseOption, for an option that resembles none of the command's
/// options by name or description.
std::string adviseOtherOption(const cli::Command& command,
                              const cli::UnknownOption& option);
/// The remedy for a value that an option of `command` does not take.
std::string adviseValue(const cli::Command& command, const cli::Option& option,
                        const std::string& value,
                        const std::vector<std::string>& operands);
/// The remedy for more operands than `command` takes. For `generate DIR TEXT`
/// it names the option for the prompt.
std::string adviseSurplus(const cli::Command& command,
                          const std::vector<std::string>& operands);
/// Rejects an address in place of a path, a recipe in place of a plan, and a
/// setting after a plan: `parallel.tp=2`.
cli::Check refuseOperand(const cli::Command& command,
                         const std::string& operand);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_FOREIGNUSAGE_H
