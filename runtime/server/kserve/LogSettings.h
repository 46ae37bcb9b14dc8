// The settings of the log, which the logging extension reads and changes.

#ifndef RECIPERUN_SERVER_KSERVE_LOGSETTINGS_H
#define RECIPERUN_SERVER_KSERVE_LOGSETTINGS_H

#include "runtime/base/Log.h"
#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace reciperun::server {

struct LogSettings {
  std::string file = {}; // empty: standard error
  bool hasInfo = true, hasWarnings = true, hasErrors = true;
  uint32_t verboseLevel = 0;
  std::string format = "default"; // or `ISO8601`
};

/// The settings that the log's level stands for.
LogSettings logSettingsNow();
/// The level that comes nearest: the log has one level and cannot leave out
/// errors, nor warnings where it has notes.
LogLevel logLevelOf(const LogSettings& settings);

/// `settings` with what the body of a request changes.
Expected<LogSettings> readLogSettings(LogSettings settings,
                                      std::string_view body, size_t mostBytes);

std::string logSettingsJson(const LogSettings& settings);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_KSERVE_LOGSETTINGS_H
