// See LogSettings.h. A field that is absent or null stays as it is.

#include "runtime/server/kserve/LogSettings.h"

#include "runtime/server/kserve/AnswerJson.h"
#include "runtime/server/kserve/RequestJson.h"

#include <algorithm>
#include <limits>

namespace reciperun::server {
namespace {

const JsonValue* findSet(const JsonValue& body, const char* name) {
  const JsonValue* const value = findMember(body, name);
  return value && !value->IsNull() ? value : nullptr;
}

Status readFlag(const JsonValue& body, const char* name, bool& target) {
  const JsonValue* const value = findSet(body, name);
  if (!value)
    return Status::ok();
  const auto flag = boolOf(*value);
  RECIPERUN_TRY(flag);
  target = *flag;
  return Status::ok();
}

Status readVerboseLevel(const JsonValue& body, uint32_t& target) {
  const JsonValue* const value = findSet(body, "log_verbose_level");
  if (!value)
    return Status::ok();
  const auto level = unsignedOf(*value);
  RECIPERUN_TRY(level);
  constexpr uint64_t most = std::numeric_limits<int32_t>::max();
  target = uint32_t(std::min(*level, most));
  return Status::ok();
}

Status readFormat(const JsonValue& body, std::string& target) {
  const JsonValue* const value = findSet(body, "log_format");
  if (!value)
    return Status::ok();
  const auto format = stringOf(*value);
  RECIPERUN_TRY(format);
  if (*format != "default" && *format != "ISO8601")
    return Status::error("invalid argument for --log_format, got: " +
                             std::string(*format),
                         StatusCode::unavailable);
  target = *format;
  return Status::ok();
}

} // namespace

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

Expected<LogSettings> readLogSettings(LogSettings settings,
                                      std::string_view body, size_t mostBytes) {
  const auto json = parseRequestJson(body, mostBytes);
  RECIPERUN_TRY(json);
  if (findSet(json->values, "log_file"))
    return Status::error(
        "log file location can not be updated through network protocol",
        StatusCode::unsupported);
  RECIPERUN_TRY(readFlag(json->values, "log_info", settings.hasInfo));
  RECIPERUN_TRY(readFlag(json->values, "log_warning", settings.hasWarnings));
  RECIPERUN_TRY(readFlag(json->values, "log_error", settings.hasErrors));
  RECIPERUN_TRY(readVerboseLevel(json->values, settings.verboseLevel));
  RECIPERUN_TRY(readFormat(json->values, settings.format));
  return settings;
}

std::string logSettingsJson(const LogSettings& settings) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartObject();
  writeMember(writer, "log_file", settings.file);
  writeKey(writer, "log_info");
  writer.Bool(settings.hasInfo);
  writeKey(writer, "log_warning");
  writer.Bool(settings.hasWarnings);
  writeKey(writer, "log_error");
  writer.Bool(settings.hasErrors);
  writeKey(writer, "log_verbose_level");
  writer.Uint(settings.verboseLevel);
  writeMember(writer, "log_format", settings.format);
  writer.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

} // namespace reciperun::server
