// Lines of text about the program's work, on stderr, by their importance.

#ifndef RECIPERUN_BASE_LOG_H
#define RECIPERUN_BASE_LOG_H

#include <string>

namespace reciperun {

enum class LogLevel { debug, info, warning, error };

/// Lines below `level` are left out from now on. It is `info` at the start.
void setLogLevel(LogLevel level);
/// Whether a line of this level is written, for those that cost much to make.
bool logs(LogLevel level);

/// Writes `debug: message`, `note: message`, `warning: message` or `error:
/// message` as one line. May be called by any thread. The message must not
/// contain secrets, and no text of a client.
void logLine(LogLevel level, const std::string& message);

} // namespace reciperun

#endif // RECIPERUN_BASE_LOG_H
