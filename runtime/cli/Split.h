// Splits the arguments of a call into commands, options and operands, without
// checking values.

#ifndef RECIPERUN_CLI_SPLIT_H
#define RECIPERUN_CLI_SPLIT_H

#include "runtime/cli/Command.h"

namespace reciperun::cli {

/// An option or an operand as given.
struct Item {
  const Option* option = nullptr; // null: an operand
  std::string text = {};          // the value; empty for a flag
};

struct Split {
  const Command* command = nullptr; // null when no command is named
  std::string path;                 // `recipec plan`, or only the program
  std::vector<Item> items = {};     // in the order given
  /// The first argument that is not an option, operand or command of `command`.
  std::optional<std::string> unknown = {};
  /// The argument after `unknown`, unless it is an option; may be empty.
  std::string afterUnknown = {};
  const Option* lacksValue = nullptr; // last option, without its value
  bool wantsHelp = false;
  bool wantsVersion = false;
};

/// Whether the option needs a value; other options are flags.
bool takesValue(const Option& option);

/// Splits `arguments`, without the program's name.
Split split(const Program& program, const std::vector<std::string>& arguments);

} // namespace reciperun::cli

#endif // RECIPERUN_CLI_SPLIT_H
