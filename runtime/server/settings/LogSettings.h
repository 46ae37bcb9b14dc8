// The settings of the log, which the logging extension reads and changes.

#ifndef RECIPERUN_SERVER_SETTINGS_LOGSETTINGS_H
#define RECIPERUN_SERVER_SETTINGS_LOGSETTINGS_H

#include "runtime/base/Log.h"
#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace reciperun::server {

struct LogSettings {
  std::string file = {}; // empty: standard error
  bool hasInfo = true, hasWarnings = true, hasErrors = true;
  uint32_t verboseLevel = 0;
  std::string format = "default";
};

/// The settings that the log's level stands for.
LogSettings logSettingsNow();
/// The level that comes nearest: the log has one level and cannot leave out
/// errors, nor warnings where it has notes.
LogLevel logLevelOf(const LogSettings& settings);

/// Whether a client may set a format: `default` or `ISO8601`.
bool isLogFormat(std::string_view format);
/// Why a client cannot change the file.
Status logFileIsFixed();

/// The log's settings, which begin with those of the log.
class LogStore {
public:
  const LogSettings& settings() const { return now; }
  /// They take effect at once.
  void change(LogSettings settings);

private:
  LogSettings now = logSettingsNow();
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_SETTINGS_LOGSETTINGS_H
