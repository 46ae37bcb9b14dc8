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

/// The settings that correspond to the log's level.
LogSettings logSettingsNow();
/// The nearest level: the log has a single level, which always includes errors,
/// and warnings if it includes notes.
LogLevel logLevelOf(const LogSettings& settings);

/// Whether a client may set a format: `default` or `ISO8601`.
bool isLogFormat(std::string_view format);
/// Why a client cannot change the file.
Status logFileIsFixed();

/// The log's settings. Initially they correspond to the log's level.
class LogStore {
public:
  const LogSettings& settings() const { return now; }
  /// Changes the settings at once.
  void change(LogSettings settings);

private:
  LogSettings now = logSettingsNow();
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_SETTINGS_LOGSETTINGS_H
