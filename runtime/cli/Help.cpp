// Prints two columns under headings, wrapped at 80 characters.

#include "runtime/cli/Help.h"

#include <algorithm>
#include <sstream>

namespace reciperun::cli {
namespace {

constexpr size_t width = 80;
constexpr size_t commandColumn = 14; // column of commands' summaries
constexpr size_t optionColumn = 24;  // column of options' texts

/// Wraps `text` at `width` characters; the first line begins at `column`, and
/// the others are indented to it.
std::string wrapped(const std::string& text, size_t column) {
  std::string lines;
  size_t used = column;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const bool isFirst = lines.empty();
    if (!isFirst && used + 1 + word.size() > width) {
      lines += "\n" + std::string(column, ' ');
      used = column;
    } else if (!isFirst) {
      lines += ' ';
      ++used;
    }
    lines += word;
    used += word.size();
  }
  return lines;
}

/// `left` at `indent`, and `text` starting at `column`.
std::string entry(size_t indent, const std::string& left, size_t column,
                  const std::string& text) {
  std::string line = std::string(indent, ' ') + left;
  if (line.size() + 2 > column)
    line += "\n" + std::string(column, ' ');
  else
    line.resize(column, ' ');
  return line + wrapped(text, column) + "\n";
}

std::string paragraphs(const std::string& text) {
  std::string lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find("\n\n", begin), text.size());
    lines += "\n" + wrapped(text.substr(begin, end - begin), 0) + "\n";
    begin = end + 2;
  }
  return lines;
}

std::string commandList(const std::vector<Command>& commands) {
  std::string lines = "\ncommands:\n";
  for (const Command& each : commands)
    lines += entry(2, each.name, commandColumn, each.summary);
  return lines;
}

std::string optionEntry(const Option& option) {
  std::string left = option.shortName.empty()
                         ? option.name
                         : option.shortName + ", " + option.name;
  if (!option.valueName.empty())
    left += "=" + option.valueName;
  std::string lines = entry(2, left, optionColumn, option.help);
  for (const Choice& each : option.choices)
    lines += entry(6, each.name, optionColumn, each.help);
  return lines;
}

/// The options under the headings of their groups, in the order in which the
/// groups first occur.
std::string optionList(const std::vector<Option>& options) {
  std::vector<std::string> groups = {""};
  for (const Option& option : options)
    if (std::ranges::find(groups, option.group) == groups.end())
      groups.push_back(option.group);
  std::string lines;
  for (const std::string& group : groups) {
    lines += "\n" + (group.empty() ? "options" : group) + ":\n";
    for (const Option& option : options)
      if (option.group == group)
        lines += optionEntry(option);
    if (group.empty())
      lines += entry(2, "-h, --help", optionColumn, "print this text");
  }
  return lines;
}

} // namespace

std::string helpOf(const Program& program) {
  return "usage: " + program.name + " COMMAND ARGUMENTS\n" +
         paragraphs(program.purpose) + commandList(program.commands) +
         paragraphs(program.notes) +
         paragraphs("See `" + program.name + " COMMAND --help`.");
}

std::vector<std::string> usageOf(const Command& command,
                                 const std::string& path) {
  std::vector<std::string> lines;
  for (const Command& each : command.subcommands)
    lines.push_back(path + " " + each.name + " " + each.synopsis);
  if (command.subcommands.empty())
    lines.push_back(path + " " + command.synopsis);
  lines.insert(lines.end(), command.moreUsage.begin(), command.moreUsage.end());
  return lines;
}

std::string helpOf(const Command& command, const std::string& path) {
  std::string lines;
  for (const std::string& each : usageOf(command, path))
    lines += (lines.empty() ? "usage: " : "       ") + each + "\n";
  lines += paragraphs(command.details);
  if (command.subcommands.empty())
    return lines + optionList(command.options);
  return lines + commandList(command.subcommands) +
         paragraphs("See `" + path + " COMMAND --help`.");
}

} // namespace reciperun::cli
