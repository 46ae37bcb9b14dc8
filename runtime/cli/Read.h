// Parses the arguments of a call: finds the command and stores the values.

#ifndef RECIPERUN_CLI_READ_H
#define RECIPERUN_CLI_READ_H

#include "runtime/cli/Command.h"

namespace reciperun::cli {

/// The result of parsing a command line: `command` is to be run when there is
/// no `error` and no `text` to print.
struct Reading {
  const Command* command = nullptr; // a command of the program, or null
  Check error = {};
  std::string text = {}; // of `--help` and `--version`
};

/// Reads `arguments`, without the program's name. Options and operands may be
/// mixed; after `--` all are operands. `help COMMAND` is `COMMAND --help`.
Reading read(const Program& program, std::vector<std::string> arguments);

} // namespace reciperun::cli

#endif // RECIPERUN_CLI_READ_H
