// Log lines on stderr, by level.

#ifndef RECIPERUN_BASE_LOG_H
#define RECIPERUN_BASE_LOG_H

#include <string>

namespace reciperun {

enum class LogLevel { debug, info, warning, error };

/// Omits lines below `level` from now on. The initial level is `info`.
void setLogLevel(LogLevel level);
/// Whether lines of this level are written. Check it before building an
/// expensive line.
bool logs(LogLevel level);

/// Writes `debug: message`, `note: message`, `warning: message` or `error:
/// message` as one line. May be called by any thread. The message must contain
/// neither secrets nor a client's text.
void logLine(LogLevel level, const std::string& message);

} // namespace reciperun

#endif // RECIPERUN_BASE_LOG_H
