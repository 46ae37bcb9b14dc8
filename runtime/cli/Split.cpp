// Splits the arguments with CLI11.
//
// 1. Declare the program's commands and options to it, all as texts, with any
//    number of operands, and allow unknown arguments.
// 2. Parse.
// 3. Follow the commands that it found, and list the arguments of the innermost
//    one. Stops at the first unknown argument.

#include "runtime/cli/Split.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>

namespace reciperun::cli {
namespace {

/// CLI11 parses `--name=` as `--name` and takes the next argument as its value.
/// This character, which no argument contains, is appended after the `=` in
/// this case.
constexpr char endMark = '\0';

std::string markedEmptyValue(std::string argument) {
  const bool isEmptyValue =
      argument.starts_with("--") && argument.find('=') == argument.size() - 1;
  return isEmptyValue ? argument + endMark : argument;
}

std::string withoutMark(std::string value) {
  if (value.ends_with(endMark))
    value.pop_back();
  return value;
}

/// More operands than any call has.
constexpr int unlimited = 1 << 24;

class Splitter {
public:
  Splitter(const Program& program, const std::vector<std::string>& arguments)
      : arguments(arguments) {
    result.path = program.name;
    root.allow_extras()->require_subcommand(0, 1);
    version = root.add_flag("--version");
    for (const Command& each : program.commands)
      declare(root, each);
  }

  Split run() {
    parse();
    const CLI::App* app = &root;
    result.unknown = unknownOf(*app);
    while (!result.unknown && !app->get_subcommands().empty()) {
      app = app->get_subcommands().front();
      result.command = declared.at(app).command;
      result.path += " " + result.command->name;
      result.unknown = unknownOf(*app);
    }
    if (result.unknown)
      result.afterUnknown = argumentAfter(*result.unknown);
    result.wantsVersion = version->count() > 0;
    if (result.command)
      list(*app);
    return std::move(result);
  }

private:
  /// CLI11's objects for a command.
  struct Declared {
    const Command* command = nullptr;
    const CLI::Option* operands = nullptr;
    std::map<const CLI::Option*, const Option*> options;
  };

  void declare(CLI::App& parent, const Command& command);
  void parse();
  std::optional<std::string> unknownOf(const CLI::App& app) const;
  std::string argumentAfter(const std::string& argument) const;
  void list(const CLI::App& app);
  std::string valueOf(const Option& option, std::string text) const;
  const Option* lastOption() const;

  const std::vector<std::string>& arguments;
  CLI::App root;
  const CLI::Option* version = nullptr;
  std::map<const CLI::App*, Declared> declared;
  bool isCutShort = false; // the last argument lacks its value
  Split result;
};

void Splitter::declare(CLI::App& parent, const Command& command) {
  CLI::App* app = parent.add_subcommand(command.name);
  Declared& entry = declared[app];
  entry.command = &command;
  const CLI::callback_t keep = [](const CLI::results_t&) { return true; };
  for (const Option& option : command.options) {
    const std::string names = option.shortName.empty()
                                  ? option.name
                                  : option.shortName + "," + option.name;
    CLI::Option* made = takesValue(option) ? app->add_option(names, keep)
                                           : app->add_flag(names);
    made->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    entry.options[made] = &option;
  }
  for (const Command& each : command.subcommands)
    declare(*app, each);
  if (command.subcommands.empty())
    entry.operands = app->add_option("operands", keep)
                         ->expected(unlimited)
                         ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void Splitter::parse() {
  std::vector<std::string> reversed;
  for (auto each = arguments.rbegin(); each != arguments.rend(); ++each)
    reversed.push_back(markedEmptyValue(*each));
  try {
    root.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    result.wantsHelp = true;
  } catch (const CLI::ArgumentMismatch&) {
    isCutShort = true; // each option takes one value
  }
}

std::optional<std::string> Splitter::unknownOf(const CLI::App& app) const {
  for (const std::string& argument : app.remaining())
    if (argument != "--")
      return argument;
  return std::nullopt;
}

std::string Splitter::argumentAfter(const std::string& argument) const {
  auto at = std::ranges::find(arguments, argument);
  const bool hasNext =
      at != arguments.end() && ++at != arguments.end() && !at->starts_with("-");
  return hasNext ? *at : "";
}

void Splitter::list(const CLI::App& app) {
  const Declared& entry = declared.at(&app);
  std::map<const CLI::Option*, size_t> taken;
  for (const CLI::Option* given : app.parse_order()) {
    const auto found = entry.options.find(given);
    const Option* option =
        found == entry.options.end() ? nullptr : found->second;
    if (!option && given != entry.operands)
      continue; // `--help`
    std::string text = withoutMark(given->results()[taken[given]++]);
    if (option)
      text = valueOf(*option, std::move(text));
    result.items.push_back({option, std::move(text)});
  }
  if (isCutShort)
    result.lacksValue = lastOption();
}

/// Converts CLI11's `text` of the option to its value.
std::string Splitter::valueOf(const Option& option, std::string text) const {
  if (!takesValue(option))
    return text == "true" ? "" : text; // CLI11's value of a flag
  // For `-o=FILE` CLI11 returns `=FILE`.
  const bool hasEquals =
      !option.shortName.empty() && text.starts_with('=') &&
      std::ranges::find(arguments, option.shortName + text) != arguments.end();
  return hasEquals ? text.substr(1) : text;
}

/// The option at the end of the last argument.
const Option* Splitter::lastOption() const {
  const std::string& last = arguments.back();
  for (const Option& option : result.command->options) {
    const bool isShort = !option.shortName.empty() && !last.starts_with("--") &&
                         last.back() == option.shortName.back();
    if (takesValue(option) && (isShort || last == option.name))
      return &option;
  }
  return nullptr;
}

} // namespace

bool takesValue(const Option& option) {
  return !option.valueName.empty();
}

Split split(const Program& program, const std::vector<std::string>& arguments) {
  return Splitter(program, arguments).run();
}

} // namespace reciperun::cli
