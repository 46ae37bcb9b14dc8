// See ChatLine.h.

#include "runtime/serve/commands/ChatLine.h"

#include "runtime/cli/Spelling.h"
#include "runtime/data/Utf8.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace reciperun::serve {
namespace {

using Kind = ChatLine::Kind;

struct ChatCommandName {
  std::string_view name;
  Kind kind;
};
constexpr ChatCommandName chatCommands[] = {{"/reset", Kind::reset},
                                            {"/system", Kind::system},
                                            {"/adapter", Kind::adapter},
                                            {"/help", Kind::help},
                                            {"/exit", Kind::exit}};

bool looksLikeCommand(std::string_view word) {
  return word.size() > 1 && word.front() == '/' &&
         std::all_of(word.begin() + 1, word.end(),
                     [](char c) { return c >= 'a' && c <= 'z'; });
}

std::string_view withoutSpaces(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == text.npos)
    return {};
  return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

Status unknownCommand(std::string_view word) {
  std::vector<std::string> names;
  for (const ChatCommandName& each : chatCommands)
    names.emplace_back(each.name);
  const std::optional<std::string> meant =
      cli::nearest(std::string(word), names);
  return Status::error("there is no command `" + std::string(word) + "`; " +
                       (meant
                            ? "write `" + *meant + "`"
                            : "commands are " + cli::quotedList(names, "and")) +
                       ", or begin a message with a space");
}

} // namespace

Expected<ChatLine> readChatLine(std::string_view line) {
  const size_t bad = data::firstIllFormed(line);
  if (bad != line.npos)
    return Status::error("the line is not UTF-8 at its byte " +
                         std::to_string(bad + 1));
  const std::string_view word = line.substr(0, line.find_first_of(" \t\n"));
  if (!looksLikeCommand(word)) {
    if (line.starts_with(" /"))
      line.remove_prefix(1);
    return ChatLine{Kind::message, std::string(line)};
  }
  for (const ChatCommandName& each : chatCommands)
    if (each.name == word)
      return ChatLine{each.kind,
                      std::string(withoutSpaces(line.substr(word.size())))};
  return unknownCommand(word);
}

bool appendLine(std::string_view line, std::string& message) {
  const bool goesOn = line.ends_with('\\');
  if (goesOn)
    line.remove_suffix(1);
  message += line;
  if (goesOn)
    message += '\n';
  return goesOn;
}

std::string_view chatHelp() {
  return "/reset         begin a new conversation\n"
         "/system TEXT   set the system message and begin a new conversation; "
         "without\n"
         "               TEXT, remove it\n"
         "/adapter NAME  answer with an adapter, without NAME with the model "
         "alone\n"
         "/help          print this list\n"
         "/exit          end the program\n"
         "A backslash at the end of a line continues the message on the next "
         "one. Ctrl-C\nstops an answer, Ctrl-D ends the program.\n";
}

} // namespace reciperun::serve
