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
/// lower-case letters is a command. Every other line is a message; a space
/// before a leading slash is removed, so that a message can begin with a slash.
/// Fails for an unknown command, and when the line is not UTF-8.
Expected<ChatLine> readChatLine(std::string_view line);

/// Appends a line to a message. A backslash at the end of the line is removed
/// and means that another line follows. Returns whether one does.
bool appendLine(std::string_view line, std::string& message);

/// The commands, a line each.
std::string_view chatHelp();

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_COMMANDS_CHATLINE_H
