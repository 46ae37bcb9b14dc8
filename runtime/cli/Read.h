// From the arguments of a call to the command that they name, its values
// stored.

#ifndef RECIPERUN_CLI_READ_H
#define RECIPERUN_CLI_READ_H

#include "runtime/cli/Command.h"

namespace reciperun::cli {

/// What a command line asks for: to run `command` where nothing is wrong and
/// there is no `text` to print.
struct Reading {
  const Command* command = nullptr; // of the program; null: none is named
  Check error = {};
  std::string text = {}; // of `--help` and `--version`
};

/// Reads `arguments`, without the program's name. Options and operands may be
/// mixed; behind `--` all are operands. `help COMMAND` is `COMMAND --help`.
Reading read(const Program& program, std::vector<std::string> arguments);

} // namespace reciperun::cli

#endif // RECIPERUN_CLI_READ_H
