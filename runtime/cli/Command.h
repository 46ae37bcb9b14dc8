// The command line of a program as data: its commands, and the options and
// operands of each.
//
// A command's options store their values where the command's `run` finds them.
// cli::read takes the arguments of a call apart by this description, and
// cli::helpOf prints it.

#ifndef RECIPERUN_CLI_COMMAND_H
#define RECIPERUN_CLI_COMMAND_H

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace reciperun::cli {

/// What is wrong with a command line, and the way out, which may be empty.
struct UsageError {
  std::string message;
  std::string help = {};
};

/// The two lines that are printed of it, `error: ...` and `help: ...`.
std::string toText(const UsageError& error);

/// What a check found wrong; nothing when all is well.
using Check = std::optional<UsageError>;

/// An option as it was given.
struct Given {
  std::string value; // empty for an option that takes none
  std::string next;  // the operand right behind it; empty: none
};

/// A word that an option takes as its value, and what it means.
struct Choice {
  std::string name;
  std::string help;
};

/// An option of a command: `--name`, `--name VALUE` or `--name=VALUE`.
struct Option {
  std::string name;                 // `--output`
  std::string shortName = {};       // `-o`; empty: none
  std::string valueName = {};       // `OUT`; empty: the option takes no value
  std::string help = {};            // what it does, in a phrase
  std::vector<Choice> choices = {}; // for `--help` and completion
  std::string group = {};           // its heading in `--help`; empty: `options`
  bool repeats = false;             // it may be given several times
  bool takesEmpty = false;          // an empty value is one
  /// Keeps the value, or says why it is none.
  std::function<Check(const Given&)> store = {};
};

/// The arguments of a command that are not options.
struct Operands {
  static constexpr size_t anyNumber = std::numeric_limits<size_t>::max();

  size_t fewest = 0;
  size_t most = 0;
  std::string needs = {};                     // what is missing: `a file`
  std::vector<std::string>* values = nullptr; // where they are kept
};

/// What a user calls by name: `recipec plan`.
struct Command {
  std::string name;
  std::string synopsis = {}; // what follows the name: `FILE[:NAME] [options]`
  std::string summary = {};  // one line for the list of commands
  std::string details = {};  // paragraphs, an empty line between two
  std::vector<std::string> moreUsage = {}; // other calls, with the program
  std::vector<Option> options = {};
  Operands operands = {};
  /// Takes all arguments behind `--` as they are; null: they are operands.
  std::vector<std::string>* passedOn = nullptr;
  /// A command that has some does nothing by itself.
  std::vector<Command> subcommands = {};
  /// What must stand together, once all values are stored; may be empty.
  std::function<Check()> check = {};
  /// Carries the command out and gives the exit code.
  std::function<int()> run = {};
  /// Prints what is wrong with a call and gives the exit code; empty: the
  /// program does it.
  std::function<int(const UsageError&)> refuse = {};
};

/// A command that a user of other programs may look for, and where it is.
struct ForeignCommand {
  std::string name;
  std::string own; // `recipec run`
};

struct Program {
  std::string name;
  std::string purpose = {}; // a sentence
  std::string notes = {}; // what closes the list of commands, as it is printed
  std::vector<Command> commands;
  std::vector<ForeignCommand> foreignCommands = {};
  /// What `--version` prints.
  std::function<std::string()> version = {};
  /// A way out for an option that the command lacks; empty: none is known.
  std::function<std::string(const Command&, const std::string& option)> advise =
      {};
};

} // namespace reciperun::cli

#endif // RECIPERUN_CLI_COMMAND_H
