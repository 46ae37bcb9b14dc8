// See LogSettings.h.

#include "runtime/server/settings/LogSettings.h"

#include <utility>

namespace reciperun::server {

LogSettings logSettingsNow() {
  LogSettings settings;
  settings.hasInfo = logs(LogLevel::info);
  settings.hasWarnings = logs(LogLevel::warning);
  settings.hasErrors = logs(LogLevel::error);
  settings.verboseLevel = logs(LogLevel::debug) ? 1 : 0;
  return settings;
}

LogLevel logLevelOf(const LogSettings& settings) {
  if (settings.verboseLevel > 0)
    return LogLevel::debug;
  if (settings.hasInfo)
    return LogLevel::info;
  return settings.hasWarnings ? LogLevel::warning : LogLevel::error;
}

bool isLogFormat(std::string_view format) {
  return format == "default" || format == "ISO8601";
}

Status logFileIsFixed() {
  return Status::error(
      "log file location can not be updated through network protocol",
      StatusCode::unsupported);
}

void LogStore::change(LogSettings settings) {
  now = std::move(settings);
  setLogLevel(logLevelOf(now));
}

} // namespace reciperun::server
