// A field of a request is absent (keep), null (forget what was set) or a value.
// Numbers are strings.

#include "runtime/server/kserve/TraceSettings.h"

#include "runtime/server/kserve/AnswerJson.h"
#include "runtime/server/kserve/RequestJson.h"

#include <charconv>
#include <limits>

namespace reciperun::server {
namespace {

Status invalidSetting(std::string message) {
  return Status::error(std::move(message), StatusCode::invalidArgument);
}

/// Reads a number in a string, from `least` up.
template <class T>
Status readNumber(const char* name, const JsonValue& value, T least,
                  std::optional<T>& target) {
  const auto text = stringOf(value);
  RECIPERUN_TRY(text);
  const std::string start = "Unable to parse '" + std::string(name) + "'";
  int64_t number = 0;
  const auto [end, error] =
      std::from_chars(text->data(), text->data() + text->size(), number);
  if (error == std::errc::invalid_argument ||
      end != text->data() + text->size())
    return invalidSetting(start + ", got: " + std::string(*text));
  const int64_t most = std::numeric_limits<T>::max();
  if (error != std::errc() || number < least || number > most)
    return invalidSetting(start + ", value is out of range [ " +
                          std::to_string(least) + ", " + std::to_string(most) +
                          " ], got: " + std::string(*text));
  target = T(number);
  return Status::ok();
}

Status readLevel(const JsonValue& value, std::optional<TraceLevel>& target) {
  if (!value.IsArray())
    return Status::error("attempt to access JSON non-array as array");
  TraceLevel level;
  for (const JsonValue& each : value.GetArray()) {
    const auto name = stringOf(each);
    RECIPERUN_TRY(name);
    if (*name == "OFF" && value.GetArray().Size() > 1)
      return invalidSetting("Expect only one trace level 'OFF' is specified");
    level.hasTimestamps = level.hasTimestamps || *name == "TIMESTAMPS";
    level.hasTensors = level.hasTensors || *name == "TENSORS";
  }
  target = level;
  return Status::ok();
}

/// Reads a field that may be absent or null.
template <class T, class Read>
Status readField(const JsonValue& body, const char* name, Read read,
                 std::optional<T>& target) {
  const JsonValue* const value = findMember(body, name);
  if (!value)
    return Status::ok();
  if (value->IsNull()) {
    target.reset();
    return Status::ok();
  }
  return read(*value);
}

/// Whether traces could be recorded with a setting.
Status checkSetting(const TraceSetting& setting) {
  if (setting.level.isOff())
    return Status::ok();
  return invalidSetting(
      std::string("Attempting to set invalid trace setting :") +
      (setting.rate == 0 ? "sample rate must be non-zero"
                         : "trace file name is not given"));
}

} // namespace

Status TraceSettings::read(std::string_view body, size_t mostBytes,
                           Changes& changes) {
  const auto json = parseRequestJson(body, mostBytes);
  RECIPERUN_TRY(json);
  if (findMember(json->values, "trace_file"))
    return Status::error(
        "trace file location can not be updated through network protocol",
        StatusCode::unsupported);
  RECIPERUN_TRY(readField(
      json->values, "trace_level",
      [&](const JsonValue& value) { return readLevel(value, changes.level); },
      changes.level));
  RECIPERUN_TRY(readField(
      json->values, "trace_rate",
      [&](const JsonValue& value) {
        return readNumber("trace_rate", value, 0u, changes.rate);
      },
      changes.rate));
  RECIPERUN_TRY(readField(
      json->values, "trace_count",
      [&](const JsonValue& value) {
        return readNumber("trace_count", value, -1, changes.count);
      },
      changes.count));
  return readField(
      json->values, "log_frequency",
      [&](const JsonValue& value) {
        return readNumber("log_frequency", value, 0u, changes.logFrequency);
      },
      changes.logFrequency);
}

Status TraceSettings::update(const std::string& model, std::string_view body,
                             size_t mostBytes) {
  const auto known = models.find(model);
  Changes changes = model.empty()           ? server
                    : known == models.end() ? Changes()
                                            : known->second;
  RECIPERUN_TRY(read(body, mostBytes, changes));
  const TraceSetting below = model.empty() ? TraceSetting() : of("");
  RECIPERUN_TRY(checkSetting(changes.over(below)));
  if (model.empty())
    server = changes;
  else if (changes.isEmpty())
    models.erase(model);
  else
    models[model] = changes;
  return Status::ok();
}

TraceSetting TraceSettings::Changes::over(TraceSetting setting) const {
  setting.level = level.value_or(setting.level);
  setting.rate = rate.value_or(setting.rate);
  setting.count = count.value_or(setting.count);
  setting.logFrequency = logFrequency.value_or(setting.logFrequency);
  return setting;
}

TraceSetting TraceSettings::of(const std::string& model) const {
  const TraceSetting whole = server.over(TraceSetting());
  const auto found = models.find(model);
  return found == models.end() ? whole : found->second.over(whole);
}

std::string TraceSettings::json(const std::string& model) const {
  const TraceSetting setting = of(model);
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartObject();
  writeKey(writer, "trace_level");
  writer.StartArray();
  if (setting.level.isOff())
    writeString(writer, "OFF");
  if (setting.level.hasTimestamps)
    writeString(writer, "TIMESTAMPS");
  if (setting.level.hasTensors)
    writeString(writer, "TENSORS");
  writer.EndArray();
  writeMember(writer, "trace_rate", std::to_string(setting.rate));
  writeMember(writer, "trace_count", std::to_string(setting.count));
  writeMember(writer, "log_frequency", std::to_string(setting.logFrequency));
  writeMember(writer, "trace_file", "");
  writeMember(writer, "trace_mode", "triton");
  writer.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

} // namespace reciperun::server
