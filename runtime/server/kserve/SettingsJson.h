// The bodies of requests and answers about the settings of tracing and of the
// log.

#ifndef RECIPERUN_SERVER_KSERVE_SETTINGSJSON_H
#define RECIPERUN_SERVER_KSERVE_SETTINGSJSON_H

#include "runtime/base/Status.h"
#include "runtime/server/settings/LogSettings.h"
#include "runtime/server/settings/TraceSettings.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace reciperun::server {

/// The changes that the body of a request makes. Numbers are strings; null
/// resets a setting.
Expected<TraceSettings::Values> readTraceBody(std::string_view body,
                                              size_t mostBytes);
std::string traceJson(const TraceSettings::Values& settings);

/// `settings` after the changes of a request's body. Fields that are absent or
/// null stay unchanged.
Expected<LogSettings> readLogBody(LogSettings settings, std::string_view body,
                                  size_t mostBytes);
std::string logJson(const LogSettings& settings);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_KSERVE_SETTINGSJSON_H
