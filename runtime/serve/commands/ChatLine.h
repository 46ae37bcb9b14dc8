// The lines that a user types into `reciperun chat`: commands and messages.

#ifndef RECIPERUN_SERVE_COMMANDS_CHATLINE_H
#define RECIPERUN_SERVE_COMMANDS_CHATLINE_H

#include "runtime/base/Status.h"

#include <string>
#include <string_view>

namespace reciperun::serve {

struct ChatLine {
  enum class Kind { message, reset, system, adapter, help, exit };

  Kind kind = Kind::message;
  std::string text; // of the message, or behind the command
};

/// Reads a line without its line break. A line whose first word is a slash and
/// lower-case letters is a command; every other one is a message, without the
/// space that may stand before its first slash. Fails for an unknown command,
/// and when the line is not UTF-8.
Expected<ChatLine> readChatLine(std::string_view line);

/// Appends a line to a message of several lines. A backslash at the end of the
/// line is removed and means that the message goes on. Returns whether it does.
bool appendLine(std::string_view line, std::string& message);

/// The commands, a line each.
std::string_view chatHelp();

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_COMMANDS_CHATLINE_H
