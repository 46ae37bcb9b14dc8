// See SettingsJson.h.

#include "runtime/server/kserve/SettingsJson.h"

#include "runtime/server/kserve/AnswerJson.h"
#include "runtime/server/kserve/RequestJson.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace reciperun::server {
namespace {

using SettingTexts = std::vector<std::string>;

Expected<SettingTexts> traceLevelsOf(const JsonValue& value) {
  if (!value.IsArray())
    return wrongAccess("non-array", "array");
  SettingTexts texts;
  for (const JsonValue& each : value.GetArray()) {
    const auto text = stringOf(each);
    RECIPERUN_TRY(text);
    texts.emplace_back(*text);
  }
  return texts;
}

Expected<SettingTexts> traceTextOf(const JsonValue& value) {
  const auto text = stringOf(value);
  RECIPERUN_TRY(text);
  return SettingTexts{std::string(*text)};
}

/// Reads a field that may be absent or null.
Status readTraceField(const JsonValue& body, const char* name,
                      Expected<SettingTexts> (*read)(const JsonValue& value),
                      TraceSettings::Values& changes) {
  const JsonValue* const value = findMember(body, name);
  if (!value)
    return Status::ok();
  auto texts = value->IsNull() ? SettingTexts() : read(*value);
  RECIPERUN_TRY(texts);
  changes[name] = *std::move(texts);
  return Status::ok();
}

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
  if (!isLogFormat(*format))
    return Status::error("invalid argument for --log_format, got: " +
                             std::string(*format),
                         StatusCode::unavailable);
  target = *format;
  return Status::ok();
}

} // namespace

Expected<TraceSettings::Values> readTraceBody(std::string_view body,
                                              size_t mostBytes) {
  const auto json = parseRequestJson(body, mostBytes);
  RECIPERUN_TRY(json);
  TraceSettings::Values changes;
  if (findMember(json->values, "trace_file"))
    return TraceSettings::Values{{"trace_file", {}}}; // which none may change
  RECIPERUN_TRY(
      readTraceField(json->values, "trace_level", traceLevelsOf, changes));
  for (const char* name : {"trace_rate", "trace_count", "log_frequency"})
    RECIPERUN_TRY(readTraceField(json->values, name, traceTextOf, changes));
  return changes;
}

std::string traceJson(const TraceSettings::Values& settings) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartObject();
  writeKey(writer, "trace_level");
  writer.StartArray();
  for (const std::string& level : settings.at("trace_level"))
    writeString(writer, level);
  writer.EndArray();
  for (const char* name : {"trace_rate", "trace_count", "log_frequency",
                           "trace_file", "trace_mode"})
    writeMember(writer, name, settings.at(name).front());
  writer.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

Expected<LogSettings> readLogBody(LogSettings settings, std::string_view body,
                                  size_t mostBytes) {
  const auto json = parseRequestJson(body, mostBytes);
  RECIPERUN_TRY(json);
  if (findSet(json->values, "log_file"))
    return logFileIsFixed();
  RECIPERUN_TRY(readFlag(json->values, "log_info", settings.hasInfo));
  RECIPERUN_TRY(readFlag(json->values, "log_warning", settings.hasWarnings));
  RECIPERUN_TRY(readFlag(json->values, "log_error", settings.hasErrors));
  RECIPERUN_TRY(readVerboseLevel(json->values, settings.verboseLevel));
  RECIPERUN_TRY(readFormat(json->values, settings.format));
  return settings;
}

std::string logJson(const LogSettings& settings) {
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
