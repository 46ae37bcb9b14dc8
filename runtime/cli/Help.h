// The texts of `--help`.
//
// Man pages and completions of shells are made of them: tools/shell-files reads
// the headings and the columns.

#ifndef RECIPERUN_CLI_HELP_H
#define RECIPERUN_CLI_HELP_H

#include "runtime/cli/Command.h"

#include <string>

namespace reciperun::cli {

/// What `PROGRAM --help` prints: the list of commands.
std::string helpOf(const Program& program);

/// What `PROGRAM COMMAND --help` prints; `path` is `PROGRAM COMMAND`.
std::string helpOf(const Command& command, const std::string& path);

/// `usage: recipec plan FILE[:NAME] [options]` without the first word; a line
/// for each form of a call.
std::vector<std::string> usageOf(const Command& command,
                                 const std::string& path);

} // namespace reciperun::cli

#endif // RECIPERUN_CLI_HELP_H
