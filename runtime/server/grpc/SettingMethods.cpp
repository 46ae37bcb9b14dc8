// Calls about the settings of tracing and of the log; see UnaryMethods.h.

#include "runtime/server/grpc/UnaryMethods.h"
#include "runtime/server/models/ModelServer.h"
#include "runtime/server/settings/SettingStore.h"

#include <cstdint>
#include <string>
#include <utility>

namespace reciperun::server {
namespace {

Status checkTracedModel(CallHost& host, const std::string& model) {
  if (model.empty())
    return Status::ok();
  const auto isReady = host.models.isModelReady(model, -1);
  RECIPERUN_TRY(isReady);
  return *isReady ? Status::ok()
                  : Status::error("Request for unknown model : " + model,
                                  StatusCode::invalidArgument);
}

using LogRequest = inference::LogSettingsRequest;
using LogValue = LogRequest::SettingValue;

/// Null where a request does not have a setting.
const LogValue* findLogValue(const LogRequest& request, const char* name) {
  const auto found = request.settings().find(name);
  return found == request.settings().end() ? nullptr : &found->second;
}

Status wrongLogType(const char* name, const char* wanted) {
  return Status::error(std::string("expect ") + wanted + " for '" + name + "'",
                       StatusCode::invalidArgument);
}

Status takeLogFlag(const LogRequest& request, const char* name, bool& target) {
  const LogValue* const value = findLogValue(request, name);
  if (!value)
    return Status::ok();
  if (!value->has_bool_param())
    return wrongLogType(name, "boolean");
  target = value->bool_param();
  return Status::ok();
}

Status takeVerboseLevel(const LogRequest& request, uint32_t& target) {
  constexpr const char* name = "log_verbose_level";
  const LogValue* const value = findLogValue(request, name);
  if (!value)
    return Status::ok();
  if (!value->has_uint32_param())
    return wrongLogType(name, "int32");
  target = value->uint32_param();
  return Status::ok();
}

Status takeLogFormat(const LogRequest& request, std::string& target) {
  constexpr const char* name = "log_format";
  const LogValue* const value = findLogValue(request, name);
  if (!value)
    return Status::ok();
  if (!value->has_string_param())
    return wrongLogType(name, "string");
  if (!isLogFormat(value->string_param()))
    return Status::error("invalid argument for log_format, got: " +
                             value->string_param(),
                         StatusCode::invalidArgument);
  target = value->string_param();
  return Status::ok();
}

/// `settings` with what a request changes.
Expected<LogSettings> readLogRequest(LogSettings settings,
                                     const LogRequest& request) {
  if (findLogValue(request, "log_file"))
    return logFileIsFixed();
  RECIPERUN_TRY(takeLogFlag(request, "log_info", settings.hasInfo));
  RECIPERUN_TRY(takeLogFlag(request, "log_warning", settings.hasWarnings));
  RECIPERUN_TRY(takeLogFlag(request, "log_error", settings.hasErrors));
  RECIPERUN_TRY(takeVerboseLevel(request, settings.verboseLevel));
  RECIPERUN_TRY(takeLogFormat(request, settings.format));
  return settings;
}

} // namespace

Status traceSetting(CallHost& host,
                    const inference::TraceSettingRequest& request,
                    inference::TraceSettingResponse& answer) {
  RECIPERUN_TRY(checkTracedModel(host, request.model_name()));
  TraceSettings::Values changes;
  for (const auto& [name, setting] : request.settings())
    changes[name] = {setting.value().begin(), setting.value().end()};
  TraceSettings& traces = host.store.traces;
  RECIPERUN_TRY(traces.change(request.model_name(), changes));
  for (const auto& [name, values] : traces.of(request.model_name())) {
    auto& target = (*answer.mutable_settings())[name];
    target.mutable_value()->Add(values.begin(), values.end());
  }
  return Status::ok();
}

Status logSettings(CallHost& host, const inference::LogSettingsRequest& request,
                   inference::LogSettingsResponse& answer) {
  LogStore& log = host.store.log;
  auto changed = readLogRequest(log.settings(), request);
  RECIPERUN_TRY(changed);
  log.change(*std::move(changed));
  const LogSettings& now = log.settings();
  auto& settings = *answer.mutable_settings();
  settings["log_file"].set_string_param(now.file);
  settings["log_info"].set_bool_param(now.hasInfo);
  settings["log_warning"].set_bool_param(now.hasWarnings);
  settings["log_error"].set_bool_param(now.hasErrors);
  settings["log_verbose_level"].set_uint32_param(now.verboseLevel);
  settings["log_format"].set_string_param(now.format);
  return Status::ok();
}

} // namespace reciperun::server
