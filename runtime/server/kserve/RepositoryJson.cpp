// See RepositoryJson.h.

#include "runtime/server/kserve/RepositoryJson.h"

#include "runtime/server/kserve/AnswerJson.h"
#include "runtime/server/kserve/RequestJson.h"

#include <array>

namespace reciperun::server {
namespace {

constexpr std::string_view filePrefix = "file:";

/// The value of a base64 digit; -1 for other characters.
constexpr std::array<int8_t, 256> base64Values() {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<int8_t, 256> values = {};
  values.fill(-1);
  for (size_t i = 0; i < digits.size(); ++i)
    values[static_cast<unsigned char>(digits[i])] = int8_t(i);
  return values;
}

/// White space and padding are skipped. Fails at other characters.
Expected<std::string> decodeBase64(std::string_view text,
                                   std::string_view name) {
  static constexpr auto values = base64Values();
  std::string bytes;
  uint32_t bits = 0;
  int count = 0; // of bits that are not taken yet
  for (const char each : text) {
    const int value = values[static_cast<unsigned char>(each)];
    if (value < 0 && std::string_view(" \t\r\n=").find(each) == text.npos)
      return Status::error("'" + std::string(name) + "' is not base64",
                           StatusCode::invalidArgument);
    if (value < 0)
      continue;
    bits = bits << 6 | uint32_t(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += char(bits >> count & 0xff);
    }
  }
  return bytes;
}

Status addOverride(std::string_view name, std::string_view value,
                   LoadOverrides& overrides) {
  if (name == "config") {
    overrides.config = value;
    return Status::ok();
  }
  if (!name.starts_with(filePrefix))
    return Status::error("Unrecognized load parameter '" + std::string(name) +
                             "' with type 'STRING'",
                         StatusCode::invalidArgument);
  auto contents = decodeBase64(value, name);
  RECIPERUN_TRY(contents);
  overrides.files[std::string(name.substr(filePrefix.size()))] =
      *std::move(contents);
  return Status::ok();
}

} // namespace

Expected<bool> readIndexBody(std::string_view body, size_t mostBytes) {
  if (body.empty())
    return false;
  const auto json = parseRequestJson(body, mostBytes);
  RECIPERUN_TRY(json);
  const JsonValue* const ready = findMember(json->values, "ready");
  if (!ready)
    return false;
  if (!ready->IsBool())
    return Status::error("Invalid value for 'ready': expected a boolean",
                         StatusCode::invalidArgument);
  return ready->GetBool();
}

Expected<LoadOverrides> readLoadBody(std::string_view body, size_t mostBytes) {
  LoadOverrides overrides;
  if (body.empty())
    return overrides;
  const auto json = parseRequestJson(body, mostBytes);
  RECIPERUN_TRY(json);
  const JsonValue* const parameters = findMember(json->values, "parameters");
  if (!parameters)
    return overrides;
  RECIPERUN_TRY(expectObject(*parameters));
  for (const auto& each : parameters->GetObject()) {
    const auto value = stringOf(each.value);
    RECIPERUN_TRY(value);
    RECIPERUN_TRY(addOverride(nameOf(each), *value, overrides));
  }
  if (!overrides.files.empty() && !overrides.config)
    return Status::error(
        "Load parameter 'config' must be specified for model file override",
        StatusCode::invalidArgument);
  return overrides;
}

Expected<bool> readUnloadBody(std::string_view body, size_t mostBytes) {
  if (body.empty())
    return false;
  const auto json = parseRequestJson(body, mostBytes);
  RECIPERUN_TRY(json);
  const JsonValue* const parameters = findMember(json->values, "parameters");
  const JsonValue* const dependents =
      parameters ? findMember(*parameters, "unload_dependents") : nullptr;
  if (!dependents)
    return false;
  const auto value = boolOf(*dependents);
  RECIPERUN_TRY(unableToParse("unload_dependents", value.status()));
  return *value;
}

std::string indexJson(std::span<const IndexEntry> entries) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartArray();
  for (const IndexEntry& each : entries) {
    writer.StartObject();
    writeMember(writer, "name", each.name);
    if (!each.version.empty())
      writeMember(writer, "version", each.version);
    if (!each.state.empty())
      writeMember(writer, "state", each.state);
    if (!each.reason.empty())
      writeMember(writer, "reason", each.reason);
    writer.EndObject();
  }
  writer.EndArray();
  return {buffer.GetString(), buffer.GetSize()};
}

} // namespace reciperun::server
