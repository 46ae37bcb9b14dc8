// The texts of `--help`.
//
// tools/shell-files generates man pages and shell completions from them by
// parsing the headings and columns.

#ifndef RECIPERUN_CLI_HELP_H
#define RECIPERUN_CLI_HELP_H

#include "runtime/cli/Command.h"

#include <string>

namespace reciperun::cli {

/// The text of `PROGRAM --help`: the list of commands.
std::string helpOf(const Program& program);

/// The text of `PROGRAM COMMAND --help`; `path` is `PROGRAM COMMAND`.
std::string helpOf(const Command& command, const std::string& path);

/// The usage lines without the word `usage:`, one per form of a call: `recipec
/// plan FILE[:NAME] [options]`.
std::vector<std::string> usageOf(const Command& command,
                                 const std::string& path);

} // namespace reciperun::cli

#endif // RECIPERUN_CLI_HELP_H
