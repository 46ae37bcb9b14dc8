// Declarative description of a program's command line: its commands, and the
// options and operands of each.
//
// A command's options store their values in variables that the command's `run`
// reads. cli::read parses a call's arguments by this description, and
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

/// A command-line error and its remedy, which may be empty.
struct UsageError {
  std::string message;
  std::string help = {};
};

/// The printed lines of an error, `error: ...` and `help: ...`.
std::string toText(const UsageError& error);

/// The error found by a check; nullopt when there is none.
using Check = std::optional<UsageError>;

/// An option as given in a call.
struct Given {
  std::string value;        // empty for a flag
  std::string next;         // the operand directly after it, or empty
  std::string further = {}; // the operand directly after `next`, or empty
};

/// A word that an option accepts as its value, and its meaning.
struct Choice {
  std::string name;
  std::string help;
};

/// An option of a command: `--name`, `--name VALUE` or `--name=VALUE`.
struct Option {
  std::string name;                 // `--output`
  std::string shortName = {};       // `-o`; empty when there is none
  std::string valueName = {};       // `OUT`; empty for a flag
  std::string help = {};            // a phrase that describes it
  std::vector<Choice> choices = {}; // for `--help` and completion
  std::string group = {};           // its heading in `--help`; empty: `options`
  bool repeats = false;             // may be given several times
  bool takesEmpty = false;          // accepts an empty value
  bool takesAddress = false;        // as a path: `s3://BUCKET/KEY`
  /// Stores the value, or returns why it is invalid.
  std::function<Check(const Given&)> store = {};
};

/// The arguments of a command that are not options.
struct Operands {
  static constexpr size_t anyNumber = std::numeric_limits<size_t>::max();

  size_t fewest = 0;
  size_t most = 0;
  std::string needs = {};                     // missing operand: `a file`
  std::vector<std::string>* values = nullptr; // destination
  bool takeAddresses = false;                 // as paths: `s3://BUCKET/KEY`
};

/// A command that a user calls by name: `recipec plan`.
struct Command {
  std::string name;
  std::string synopsis = {}; // text after the name: `FILE[:NAME] [options]`
  std::string summary = {};  // one line for the list of commands
  std::string details = {};  // paragraphs, separated by an empty line
  std::vector<std::string> moreUsage = {}; // more lines, with the program
  std::vector<Option> options = {};
  Operands operands = {};
  /// Receives all arguments after `--` unchanged; null: they are operands.
  std::vector<std::string>* passedOn = nullptr;
  /// A command with subcommands does nothing itself.
  std::vector<Command> subcommands = {};
  /// Checks combinations of options, after all values are stored; may be empty.
  std::function<Check()> check = {};
  /// Runs the command and returns the exit code.
  std::function<int()> run = {};
};

/// A command of another program that users may look for, and our equivalent.
struct ForeignCommand {
  std::string name;
  std::string own;       // `recipec run`; empty when nothing is equivalent
  std::string help = {}; // what to do, where `own` alone does not say it
};

/// An option that a command lacks, as given in a call.
struct UnknownOption {
  std::string name;  // `--tp`, without the value
  std::string value; // of `--tp=2` or `--tp 2`; may be empty
};

struct Program {
  std::string name;
  std::string purpose = {}; // one sentence
  std::string notes = {};   // printed after the list of commands, verbatim
  std::vector<Command> commands;
  std::vector<ForeignCommand> foreignCommands = {};
  /// The text of `--version`.
  std::function<std::string()> version = {};
  /// The remedy for an option that the command lacks; empty when none is known.
  std::function<std::string(const Command&, const UnknownOption&)> advise = {};
  /// Like `advise`, but called only when no option of the command has a similar
  /// name or description.
  std::function<std::string(const Command&, const UnknownOption&)> adviseLast =
      {};
  /// The remedy for a value that an option does not take; empty when none is
  /// known. `operands` are the arguments of the call that belong to no option.
  std::function<std::string(const Command&, const Option&,
                            const std::string& value,
                            const std::vector<std::string>& operands)>
      adviseValue = {};
  /// The remedy for a word that is no command; empty when none is known.
  std::function<std::string(const std::string& word)> adviseCommand = {};
  /// Why a command cannot take an operand; nullopt when it can.
  std::function<Check(const Command&, const std::string& operand)>
      refuseOperand = {};
  /// The remedy for more operands than a command takes; empty when none is
  /// known.
  std::function<std::string(const Command&, const std::vector<std::string>&)>
      adviseSurplus = {};
};

} // namespace reciperun::cli

#endif // RECIPERUN_CLI_COMMAND_H
