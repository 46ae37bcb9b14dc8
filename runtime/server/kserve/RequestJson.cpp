// See RequestJson.h.

#include "runtime/server/kserve/RequestJson.h"

#include <rapidjson/error/en.h>

namespace reciperun::server {
namespace {

Status wrongAccess(const std::string& is, const std::string& asked) {
  return Status::error("attempt to access JSON " + is + " as " + asked);
}

Status missingMember(const char* name) {
  return Status::error("attempt to access non-existing object member '" +
                       std::string(name) + "'");
}

} // namespace

Expected<rapidjson::Document> parseRequestJson(std::string_view text,
                                               size_t mostBytes) {
  if (text.size() > mostBytes)
    return Status::error(
        "request JSON size of " + std::to_string(text.size()) +
            " bytes exceeds the maximum allowed input size of " +
            std::to_string(mostBytes) +
            " bytes. Use --http-max-input-size to increase the limit.",
        StatusCode::invalidArgument);
  rapidjson::Document document;
  document
      .Parse<rapidjson::kParseNanAndInfFlag | rapidjson::kParseIterativeFlag>(
          text.data(), text.size());
  if (document.HasParseError())
    return Status::error(
        "failed to parse the request JSON buffer: " +
        std::string(rapidjson::GetParseError_En(document.GetParseError())) +
        " at " + std::to_string(document.GetErrorOffset()));
  return document;
}

Expected<bool> boolOf(const JsonValue& value) {
  if (!value.IsBool())
    return wrongAccess("non-boolean", "boolean");
  return value.GetBool();
}

Expected<int64_t> signedOf(const JsonValue& value) {
  if (!value.IsInt64())
    return wrongAccess("non-signed-integer", "signed-integer");
  return value.GetInt64();
}

Expected<uint64_t> unsignedOf(const JsonValue& value) {
  if (!value.IsUint64())
    return wrongAccess("non-unsigned-integer", "unsigned-integer");
  return value.GetUint64();
}

Expected<double> doubleOf(const JsonValue& value) {
  if (!value.IsNumber())
    return wrongAccess("non-number", "double");
  return value.GetDouble();
}

Expected<std::string_view> stringOf(const JsonValue& value) {
  if (!value.IsString())
    return wrongAccess("non-string", "string");
  return std::string_view(value.GetString(), value.GetStringLength());
}

const JsonValue* findMember(const JsonValue& object, const char* name) {
  if (!object.IsObject())
    return nullptr;
  const auto found = object.FindMember(name);
  return found == object.MemberEnd() ? nullptr : &found->value;
}

Expected<std::string_view> stringMember(const JsonValue& object,
                                        const char* name) {
  const JsonValue* const value = findMember(object, name);
  if (!value)
    return missingMember(name);
  return stringOf(*value);
}

Expected<const JsonValue*> arrayMember(const JsonValue& object,
                                       const char* name) {
  const JsonValue* const value = findMember(object, name);
  if (!value)
    return missingMember(name);
  if (!value->IsArray())
    return wrongAccess("non-array", "array");
  return value;
}

Status expectObject(const JsonValue& value) {
  return value.IsObject()
             ? Status::ok()
             : Status::error("attempt to get members for non-object");
}

Status unableToParse(const char* name, const Status& status) {
  return status.withContext("Unable to parse '" + std::string(name) + "'");
}

} // namespace reciperun::server
