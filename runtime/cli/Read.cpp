// 1. Split the arguments.
// 2. Report an unknown argument, or return the requested text.
// 3. Store the values in the order in which they were given, then check the
//    number of operands and combinations of options.
//
// Parsing stops at the first error.

#include "runtime/cli/Read.h"

#include "runtime/base/RemoteFiles.h"
#include "runtime/cli/Help.h"
#include "runtime/cli/NearestOption.h"
#include "runtime/cli/Spelling.h"
#include "runtime/cli/Split.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace reciperun::cli {
namespace {

/// The longest input that is too short to count as the beginning of a name:
/// `--k` is too short, `--ke` is not.
constexpr size_t shortestBeginning = 3;

std::string seeHelp(const std::string& path) {
  return "see `" + path + " --help`";
}

// ---- unknown arguments

std::vector<std::string> namesOf(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& each : commands)
    names.push_back(each.name);
  return names;
}

/// The commands that are valid at the end of the split.
const std::vector<Command>& commandsAt(const Program& program,
                                       const Split& split) {
  return split.command ? split.command->subcommands : program.commands;
}

/// The remedy for a word that is not a subcommand. For a path, such as `bench
/// DIR`, it shows the whole call: `bench serve DIR`.
std::string missingSubcommand(const Split& split) {
  const Command& first = split.command->subcommands.front();
  const std::string& word = *split.unknown;
  const std::vector<std::string> names = namesOf(split.command->subcommands);
  std::error_code code;
  const bool isPath =
      word.find('/') != word.npos || std::filesystem::exists(word, code);
  if (isPath)
    return "a command comes first, " + quotedList(names, "or") + ": `" +
           split.path + " " + first.name + " " + word + "`";
  if (names.size() == 1)
    return "its one command is `" + split.path + " " + first.name + " " +
           first.synopsis + "`";
  return "its commands are " + quotedList(names, "and");
}

UsageError unknownCommand(const Program& program, const Split& split) {
  const std::string& name = *split.unknown;
  const std::string message =
      split.command ? "`" + split.path + "` has no command `" + name + "`"
                    : "there is no command `" + name + "`";
  if (!split.command)
    for (const ForeignCommand& each : program.foreignCommands)
      if (each.name == name)
        return {message,
                each.help.empty() ? "that is `" + each.own + "`" : each.help};
  if (!split.command && program.adviseCommand)
    if (std::string help = program.adviseCommand(name); !help.empty())
      return {message, std::move(help)};
  const std::vector<std::string> names = namesOf(commandsAt(program, split));
  if (const auto near = nearest(name, names))
    return {message, "did you mean `" + *near + "`?"};
  return {message, split.command ? missingSubcommand(split) : ""};
}

/// The commands that have the option.
std::vector<std::string> ownersOf(const std::string& option,
                                  const std::vector<Command>& commands,
                                  const std::string& path) {
  std::vector<std::string> owners;
  for (const Command& each : commands) {
    const std::string own = path + " " + each.name;
    if (std::ranges::find(each.options, option, &Option::name) !=
        each.options.end())
      owners.push_back(own);
    for (std::string& inner : ownersOf(option, each.subcommands, own))
      owners.push_back(std::move(inner));
  }
  return owners;
}

UsageError unknownOption(const Program& program, const Split& split) {
  const size_t equals = split.unknown->find('=');
  const std::string name = split.unknown->substr(0, equals);
  const std::string value = equals == std::string::npos
                                ? split.afterUnknown
                                : split.unknown->substr(equals + 1);
  const std::string message =
      "`" + split.path + "` has no option `" + name + "`";
  if (split.command && program.advise)
    if (std::string help = program.advise(*split.command, {name, value});
        !help.empty())
      return {message, std::move(help)};
  const auto owners = ownersOf(name, program.commands, program.name);
  if (!owners.empty() && !split.command)
    return {message, "options stand behind the command: `" + owners.front() +
                         " " + name + "`"};
  if (!owners.empty())
    return {message, "that is an option of " + quotedList(owners, "and")};
  std::vector<std::string> names;
  if (!split.command)
    names.push_back("--version");
  else
    for (const Option& option : split.command->options)
      names.push_back(option.name);
  // Only a misspelt `--help` asks for help; `--keep` does not.
  if (name.starts_with("--h"))
    names.push_back("--help");
  // An unknown option may be the beginning of a name: `--keep` of
  // `--keep-last`.
  std::vector<std::string> longer;
  for (const std::string& each : names)
    if (each.starts_with(name) && name.size() > shortestBeginning)
      longer.push_back(each);
  if (!longer.empty())
    return {message, "did you mean " + quotedList(longer, "or") + "?"};
  if (const auto near = nearest(name, names))
    return {message, "did you mean `" + *near + "`?"};
  if (!split.command)
    return {message, "a command comes first; " + seeHelp(split.path)};
  if (std::string help = nearestOption(*split.command, name); !help.empty())
    return {message, std::move(help)};
  if (program.adviseLast)
    if (std::string help = program.adviseLast(*split.command, {name, value});
        !help.empty())
      return {message, std::move(help)};
  constexpr size_t mostListed = 10;
  if (names.size() > mostListed)
    return {message, seeHelp(split.path)};
  return {message, names.empty()
                       ? "it has none: leave it out"
                       : "its options are " + quotedList(names, "and")};
}

UsageError unknownArgument(const Program& program, const Split& split) {
  const bool isOption =
      split.unknown->size() > 1 && split.unknown->starts_with("-");
  return isOption ? unknownOption(program, split)
                  : unknownCommand(program, split);
}

/// The error for a call without a command to run.
UsageError missingCommand(const Program& program, const Split& split) {
  return {"`" + split.path + "` needs a command: " +
          quotedList(namesOf(commandsAt(program, split)), "or")};
}

// ---- values

UsageError needsValue(const Option& option) {
  return {"`" + option.name + "` needs a value",
          "write `" + option.name + "=" + option.valueName + "`"};
}

std::vector<std::string> operandsOf(const std::vector<Item>& items) {
  std::vector<std::string> operands;
  for (const Item& item : items)
    if (!item.option)
      operands.push_back(item.text);
  return operands;
}

/// Whether the value is a path. The help calls it so.
bool takesPath(const Option& option) {
  constexpr std::string_view names[] = {"FILE", "DIR",  "PATH",
                                        "OUT",  "HTML", "JSON"};
  return std::ranges::find(names, option.valueName) != std::end(names);
}

/// The error for an address in an object store in place of a local path.
UsageError noPath(const std::string& given, const std::string& taker) {
  return {"`" + given + "` is an address, and " + taker +
              " takes paths of this machine alone",
          "name a path, and copy between it and the store, say by `aws s3 cp`"};
}

Check storeOption(const Program& program, const Command& command,
                  const std::vector<Item>& items, size_t at) {
  const auto& [option, value] = items[at];
  const bool isAgain = std::any_of(
      items.begin(), items.begin() + ptrdiff_t(at),
      [&](const Item& item) { return item.option == items[at].option; });
  if (isAgain && !option->repeats)
    return UsageError{"`" + option->name + "` is given twice",
                      "leave one of them out"};
  if (!takesValue(*option) && !value.empty())
    return UsageError{"`" + option->name + "` takes no value",
                      "write `" + option->name + "` alone"};
  if (takesValue(*option) && value.empty() && !option->takesEmpty)
    return needsValue(*option);
  if (takesPath(*option) && !option->takesAddress && isAddress(value))
    return noPath(value, "`" + option->name + "`");
  const bool hasNext = at + 1 < items.size() && !items[at + 1].option;
  const bool hasFurther =
      hasNext && at + 2 < items.size() && !items[at + 2].option;
  Check error = option->store({value, hasNext ? items[at + 1].text : "",
                               hasFurther ? items[at + 2].text : ""});
  if (error && program.adviseValue)
    if (std::string help =
            program.adviseValue(command, *option, value, operandsOf(items));
        !help.empty())
      error->help = std::move(help);
  if (error && error->help.empty())
    error->help =
        "`" + option->name + "=" + option->valueName + "`: " + option->help;
  return error;
}

Check storeOperands(const Program& program, const Split& split) {
  for (const Item& item : split.items)
    if (!item.option && program.refuseOperand)
      if (Check error = program.refuseOperand(*split.command, item.text))
        return error;
  std::vector<std::string> values = operandsOf(split.items);
  const Operands& operands = split.command->operands;
  for (const std::string& value : values)
    if (!operands.takeAddresses && isAddress(value))
      return noPath(value, "`" + split.path + "`");
  if (values.size() < operands.fewest)
    return UsageError{"`" + split.path + "` needs " + operands.needs,
                      "usage: " + usageOf(*split.command, split.path).front()};
  if (values.size() > operands.most) {
    const std::string advice =
        program.adviseSurplus ? program.adviseSurplus(*split.command, values)
                              : std::string();
    return UsageError{
        "`" + split.path + "` takes " + std::to_string(operands.most) +
            (operands.most == 1 ? " argument" : " arguments") + ", not " +
            std::to_string(values.size()) + ": `" + values[operands.most] +
            "` is too many",
        advice.empty()
            ? "leave it out, or call `" + split.path + "` once for each"
            : advice};
  }
  if (operands.values)
    *operands.values = std::move(values);
  return std::nullopt;
}

Check store(const Program& program, const Split& split) {
  for (size_t at = 0; at < split.items.size(); ++at)
    if (split.items[at].option)
      if (Check error = storeOption(program, *split.command, split.items, at))
        return error;
  if (Check error = storeOperands(program, split))
    return error;
  return split.command->check ? split.command->check() : std::nullopt;
}

// ---- the whole call

/// Stores the values of a call; returns its error, if any.
Check take(const Program& program, const Split& split) {
  if (split.unknown)
    return unknownArgument(program, split);
  if (split.lacksValue)
    return needsValue(*split.lacksValue);
  if (!split.command || !split.command->subcommands.empty())
    return missingCommand(program, split);
  return store(program, split);
}

/// The requested help or version text; empty when none was requested.
std::string textOf(const Program& program, const Split& split) {
  if (split.wantsHelp && split.command)
    return helpOf(*split.command, split.path);
  if (split.unknown || split.command)
    return "";
  if (split.wantsHelp)
    return helpOf(program);
  return split.wantsVersion ? program.version() : "";
}

/// Moves the arguments after `--` to the command's `passedOn`.
void passOn(const Program& program, std::vector<std::string>& arguments) {
  const auto named =
      std::ranges::find(program.commands, arguments.front(), &Command::name);
  if (named == program.commands.end() || !named->passedOn)
    return;
  const auto mark = std::ranges::find(arguments, "--");
  if (mark == arguments.end())
    return;
  named->passedOn->assign(mark + 1, arguments.end());
  arguments.erase(mark, arguments.end());
}

} // namespace

std::string toText(const UsageError& error) {
  std::string lines = "error: " + error.message + "\n";
  if (!error.help.empty())
    lines += "help: " + error.help + "\n";
  return lines;
}

Reading read(const Program& program, std::vector<std::string> arguments) {
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.push_back("--help");
  }
  if (!arguments.empty())
    passOn(program, arguments);
  const Split split = cli::split(program, arguments);
  if (std::string text = textOf(program, split); !text.empty())
    return {.text = std::move(text)};
  Check error = take(program, split);
  if (error && error->help.empty())
    error->help = seeHelp(split.path);
  return {split.command, std::move(error)};
}

} // namespace reciperun::cli
