// CLI11 takes arguments apart; what they mean, and what is said of mistakes,
// is the program's.
//
// 1. Declare the program's commands and options to CLI11, all of them as texts.
// 2. Have it split the arguments: which command, which option has which text,
//    what are operands, what is unknown.
// 3. Store the texts in the order in which they were given, then check the
//    number of operands and what must stand together.
// The first mistake is told, and ends it.

#include "runtime/cli/Read.h"

#include "runtime/cli/Help.h"
#include "runtime/cli/Spelling.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>

namespace reciperun::cli {
namespace {

/// CLI11 takes `--name=` for `--name` and the next argument for its value. This
/// character, which no argument holds, stands behind the `=` of such a one.
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

bool takesValue(const Option& option) {
  return !option.valueName.empty();
}

class Reader {
public:
  explicit Reader(const Program& program) : program(program) {
    root.allow_extras()->require_subcommand(0, 1);
    version = root.add_flag("--version");
    for (const Command& each : program.commands)
      declare(root, each);
  }

  Reading read(const std::vector<std::string>& arguments);

private:
  /// How splitting ended: `noValue` where the last option lacks its value.
  enum class Ending { all, help, noValue };
  /// How CLI11 knows a command.
  struct Declared {
    const Command* command = nullptr;
    const CLI::Option* operands = nullptr;
    std::map<const CLI::Option*, const Option*> options;
  };
  /// A command as it was called.
  struct Called {
    const CLI::App* app = nullptr;
    const Command* command = nullptr; // null: the program itself
    std::string path;                 // `recipec plan`
  };
  /// A text of the command line; of an operand without an option.
  struct Item {
    const Option* option = nullptr;
    std::string text;
  };

  void declare(CLI::App& parent, const Command& command);
  Ending split(const std::vector<std::string>& arguments);
  Called findCalled(Check& unknown) const;
  Check unknownArgument(const Called& called) const;
  UsageError unknownCommand(const Called& called,
                            const std::string& name) const;
  UsageError unknownOption(const Called& called, const std::string& name) const;
  std::vector<std::string> ownersOf(const std::string& option,
                                    const std::vector<Command>& commands,
                                    const std::string& path) const;
  UsageError missingCommand(const Called& called) const;
  UsageError missingValue(const Called& called,
                          const std::string& argument) const;
  std::vector<std::string> commandNames(const Called& called) const;
  std::vector<Item> itemsOf(const Called& called,
                            const std::vector<std::string>& arguments) const;
  Check store(const Called& called, const std::vector<Item>& items) const;
  Check storeOption(const std::vector<Item>& items, size_t at) const;
  Check storeOperands(const Called& called,
                      const std::vector<Item>& items) const;

  const Program& program;
  CLI::App root;
  const CLI::Option* version = nullptr;
  std::map<const CLI::App*, Declared> declared;
};

std::string seeHelp(const std::string& path) {
  return "see `" + path + " --help`";
}

UsageError needsValue(const Option& option) {
  return {"`" + option.name + "` needs a value",
          "write `" + option.name + "=" + option.valueName + "`"};
}

void Reader::declare(CLI::App& parent, const Command& command) {
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

/// Splits the arguments.
Reader::Ending Reader::split(const std::vector<std::string>& arguments) {
  std::vector<std::string> reversed;
  for (auto each = arguments.rbegin(); each != arguments.rend(); ++each)
    reversed.push_back(markedEmptyValue(*each));
  try {
    root.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    return Ending::help;
  } catch (const CLI::ArgumentMismatch&) {
    return Ending::noValue;
  }
  return Ending::all;
}

/// The command that was called, and the first argument that it, or one around
/// it, knows nothing of.
Reader::Called Reader::findCalled(Check& unknown) const {
  Called called = {&root, nullptr, program.name};
  unknown = unknownArgument(called);
  while (!unknown && !called.app->get_subcommands().empty()) {
    called.app = called.app->get_subcommands().front();
    called.command = declared.at(called.app).command;
    called.path += " " + called.command->name;
    unknown = unknownArgument(called);
  }
  return called;
}

std::vector<std::string> Reader::commandNames(const Called& called) const {
  std::vector<std::string> names;
  for (const Command& each :
       called.command ? called.command->subcommands : program.commands)
    names.push_back(each.name);
  return names;
}

Check Reader::unknownArgument(const Called& called) const {
  for (const std::string& argument : called.app->remaining()) {
    if (argument == "--")
      continue;
    if (argument.size() > 1 && argument.starts_with("-"))
      return unknownOption(called, argument.substr(0, argument.find('=')));
    return unknownCommand(called, argument);
  }
  return std::nullopt;
}

UsageError Reader::unknownCommand(const Called& called,
                                  const std::string& name) const {
  const bool isOfProgram = !called.command;
  const std::string message =
      isOfProgram ? "there is no command `" + name + "`"
                  : "`" + called.path + "` has no command `" + name + "`";
  if (isOfProgram)
    for (const ForeignCommand& each : program.foreignCommands)
      if (each.name == name)
        return {message, "that is `" + each.own + "`"};
  const auto near = nearest(name, commandNames(called));
  return {message,
          near ? "did you mean `" + *near + "`?" : seeHelp(called.path)};
}

UsageError Reader::unknownOption(const Called& called,
                                 const std::string& name) const {
  const std::string message =
      "`" + called.path + "` has no option `" + name + "`";
  if (called.command && program.advise)
    if (std::string help = program.advise(*called.command, name); !help.empty())
      return {message, std::move(help)};
  const auto owners = ownersOf(name, program.commands, program.name);
  if (!owners.empty())
    return {message, "that is an option of " + quotedList(owners, "and")};
  std::vector<std::string> names = {"--help"};
  if (!called.command)
    names.push_back("--version");
  else
    for (const Option& option : called.command->options)
      names.push_back(option.name);
  const auto near = nearest(name, names);
  return {message,
          near ? "did you mean `" + *near + "`?" : seeHelp(called.path)};
}

/// The commands that have the option.
std::vector<std::string> Reader::ownersOf(const std::string& option,
                                          const std::vector<Command>& commands,
                                          const std::string& path) const {
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

/// `argument`, the last one, is an option that takes a value.
UsageError Reader::missingValue(const Called& called,
                                const std::string& argument) const {
  for (const Option& option : called.command->options) {
    const bool isShort = !option.shortName.empty() &&
                         !argument.starts_with("--") &&
                         argument.back() == option.shortName.back();
    if (takesValue(option) && (isShort || argument == option.name))
      return needsValue(option);
  }
  return {"`" + argument + "` needs a value"};
}

/// What was given, in order.
std::vector<Reader::Item>
Reader::itemsOf(const Called& called,
                const std::vector<std::string>& arguments) const {
  const Declared& entry = declared.at(called.app);
  std::map<const CLI::Option*, size_t> taken;
  std::vector<Item> items;
  for (const CLI::Option* given : called.app->parse_order()) {
    const auto found = entry.options.find(given);
    if (found == entry.options.end() && given != entry.operands)
      continue; // `--help`, which is answered by now
    Item item = {nullptr, withoutMark(given->results()[taken[given]++])};
    if (given != entry.operands) {
      item.option = found->second;
      // CLI11 has the `=` of `-o=FILE` in the value.
      const std::string& name = item.option->shortName;
      if (!name.empty() && item.text.starts_with('=') &&
          std::ranges::find(arguments, name + item.text) != arguments.end())
        item.text.erase(0, 1);
    }
    items.push_back(std::move(item));
  }
  return items;
}

Check Reader::storeOption(const std::vector<Item>& items, size_t at) const {
  const Option& option = *items[at].option;
  Given given = {items[at].text, ""};
  if (!takesValue(option)) {
    if (given.value != "true") // CLI11's word for a flag that is given
      return UsageError{"`" + option.name + "` takes no value"};
    given.value.clear();
  }
  const bool isAgain =
      std::any_of(items.begin(), items.begin() + ptrdiff_t(at),
                  [&](const Item& item) { return item.option == &option; });
  if (isAgain && !option.repeats)
    return UsageError{"`" + option.name + "` is given twice"};
  if (takesValue(option) && given.value.empty() && !option.takesEmpty)
    return needsValue(option);
  if (at + 1 < items.size() && !items[at + 1].option)
    given.next = items[at + 1].text;
  return option.store(given);
}

Check Reader::storeOperands(const Called& called,
                            const std::vector<Item>& items) const {
  std::vector<std::string> values;
  for (const Item& item : items)
    if (!item.option)
      values.push_back(item.text);
  const Operands& operands = called.command->operands;
  if (values.size() < operands.fewest)
    return UsageError{"`" + called.path + "` needs " + operands.needs,
                      "usage: " +
                          usageOf(*called.command, called.path).front()};
  if (values.size() > operands.most)
    return UsageError{"`" + called.path + "` takes " +
                          std::to_string(operands.most) +
                          (operands.most == 1 ? " argument" : " arguments") +
                          ", not " + std::to_string(values.size()) + ": `" +
                          values[operands.most] + "` is too many",
                      seeHelp(called.path)};
  if (operands.values)
    *operands.values = std::move(values);
  return std::nullopt;
}

Check Reader::store(const Called& called,
                    const std::vector<Item>& items) const {
  for (size_t at = 0; at < items.size(); ++at)
    if (items[at].option)
      if (Check error = storeOption(items, at))
        return error;
  if (Check error = storeOperands(called, items))
    return error;
  return called.command->check ? called.command->check() : std::nullopt;
}

/// What is said of a call that names no command to run.
UsageError Reader::missingCommand(const Called& called) const {
  return {"`" + called.path +
              "` needs a command: " + quotedList(commandNames(called), "or"),
          seeHelp(called.path)};
}

Reading Reader::read(const std::vector<std::string>& arguments) {
  const Ending ending = split(arguments);
  Check unknown;
  const Called called = findCalled(unknown);
  const Command* command = called.command;
  if (unknown && (ending != Ending::help || !command))
    return {command, unknown};
  if (ending == Ending::noValue)
    return {command, missingValue(called, arguments.back())};
  if (ending == Ending::help)
    return {.text = command ? helpOf(*command, called.path) : helpOf(program)};
  if (!command && version->count() > 0)
    return {.text = program.version()};
  if (!command || !command->subcommands.empty())
    return {command, missingCommand(called)};
  Check error = store(called, itemsOf(called, arguments));
  if (error && error->help.empty())
    error->help = seeHelp(called.path);
  return {command, std::move(error)};
}

/// Moves what stands behind `--` to where the command wants it.
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
  return Reader(program).read(arguments);
}

} // namespace reciperun::cli
