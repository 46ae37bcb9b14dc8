// The arguments of a call, sorted by what they are; nothing is said of their
// values.

#ifndef RECIPERUN_CLI_SPLIT_H
#define RECIPERUN_CLI_SPLIT_H

#include "runtime/cli/Command.h"

namespace reciperun::cli {

/// An option or an operand as it was given.
struct Item {
  const Option* option = nullptr; // null: an operand
  std::string text = {};          // the value; empty for a flag
};

struct Split {
  const Command* command = nullptr; // null: none is named
  std::string path;                 // `recipec plan`, or the program alone
  std::vector<Item> items = {};     // in the order in which they were given
  /// The first argument that is no option, operand or command of `command`.
  std::optional<std::string> unknown = {};
  const Option* lacksValue = nullptr; // the last argument, without its value
  bool wantsHelp = false;
  bool wantsVersion = false;
};

/// Whether the option needs a value; others are flags.
bool takesValue(const Option& option);

/// Splits `arguments`, without the program's name.
Split split(const Program& program, const std::vector<std::string>& arguments);

} // namespace reciperun::cli

#endif // RECIPERUN_CLI_SPLIT_H
