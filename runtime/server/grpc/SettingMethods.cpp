// Calls about the settings of tracing and of the log; see UnaryMethods.h.

#include "runtime/server/grpc/UnaryMethods.h"
#include "runtime/server/models/ModelServer.h"

#include <string>

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

LogStore::Value
logValueOf(const inference::LogSettingsRequest::SettingValue& value) {
  if (value.has_bool_param())
    return value.bool_param();
  if (value.has_uint32_param())
    return value.uint32_param();
  if (value.has_string_param())
    return value.string_param();
  return {};
}

void writeLogValue(const LogStore::Value& value,
                   inference::LogSettingsResponse::SettingValue& target) {
  if (const auto* flag = std::get_if<bool>(&value))
    target.set_bool_param(*flag);
  else if (const auto* number = std::get_if<uint32_t>(&value))
    target.set_uint32_param(*number);
  else if (const auto* text = std::get_if<std::string>(&value))
    target.set_string_param(*text);
}

} // namespace

Status traceSetting(CallHost& host,
                    const inference::TraceSettingRequest& request,
                    inference::TraceSettingResponse& answer) {
  RECIPERUN_TRY(checkTracedModel(host, request.model_name()));
  TraceStore::Values changes;
  for (const auto& [name, setting] : request.settings())
    changes[name] = {setting.value().begin(), setting.value().end()};
  RECIPERUN_TRY(host.traces.change(request.model_name(), changes));
  for (const auto& [name, values] : host.traces.of(request.model_name())) {
    auto& target = (*answer.mutable_settings())[name];
    target.mutable_value()->Add(values.begin(), values.end());
  }
  return Status::ok();
}

Status logSettings(CallHost& host, const inference::LogSettingsRequest& request,
                   inference::LogSettingsResponse& answer) {
  LogStore::Values changes;
  for (const auto& [name, value] : request.settings())
    changes[name] = logValueOf(value);
  RECIPERUN_TRY(host.log.change(changes));
  for (const auto& [name, value] : host.log.all())
    writeLogValue(value, (*answer.mutable_settings())[name]);
  return Status::ok();
}

} // namespace reciperun::server
