// Configurations as JSON, in both directions. protobuf's own JSON writes 64-bit
// integers as texts; Triton's clients read numbers.

#include "runtime/server/config/ConfigJson.h"
#include "runtime/server/config/ModelConfig.h"

#include "runtime/base/ParseJson.h"
#include "runtime/server/config/ParserMessages.h"
#include "runtime/server/config/model_config.pb.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <exception>
#include <string>
#include <vector>

namespace reciperun::server {
namespace {

using Json = nlohmann::ordered_json;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

bool isLong(const FieldDescriptor& field) {
  const auto type = field.cpp_type();
  return type == FieldDescriptor::CPPTYPE_INT64 ||
         type == FieldDescriptor::CPPTYPE_UINT64;
}

void makeNumber(Json& value) {
  if (value.is_string())
    value = Json::parse(value.get<std::string>());
}

void makeNumbers(Json& object, const Descriptor& message);

/// Of one field: a value, a list or a map.
void makeNumbersOf(Json& value, const FieldDescriptor& field) {
  if (field.is_map()) {
    const FieldDescriptor& below = *field.message_type()->map_value();
    for (auto& [key, each] : value.items())
      makeNumbersOf(each, below);
  } else if (field.message_type() && value.is_array()) {
    for (Json& each : value)
      makeNumbers(each, *field.message_type());
  } else if (field.message_type()) {
    makeNumbers(value, *field.message_type());
  } else if (isLong(field) && value.is_array()) {
    for (Json& each : value)
      makeNumber(each);
  } else if (isLong(field)) {
    makeNumber(value);
  }
}

void makeNumbers(Json& object, const Descriptor& message) {
  if (!object.is_object())
    return;
  for (auto& [name, value] : object.items())
    if (const FieldDescriptor* const field = message.FindFieldByName(name))
      makeNumbersOf(value, *field);
}

constexpr size_t mostJsonBytes = size_t(4) << 20;
constexpr int mostJsonDepth = 50;
constexpr size_t mostUnknown = 20;

void findUnknown(const nlohmann::json& object, const Descriptor& message,
                 std::vector<std::string>& found);

/// Of one field: a value, a list or a map.
void findUnknownOf(const nlohmann::json& value, const FieldDescriptor& field,
                   std::vector<std::string>& found) {
  if (field.is_map()) {
    const FieldDescriptor& below = *field.message_type()->map_value();
    if (value.is_object() && below.message_type())
      for (const auto& [key, each] : value.items())
        findUnknown(each, *below.message_type(), found);
  } else if (field.message_type() && value.is_array()) {
    for (const nlohmann::json& each : value)
      findUnknown(each, *field.message_type(), found);
  } else if (field.message_type()) {
    findUnknown(value, *field.message_type(), found);
  }
}

/// The parser takes the names of the .proto file and those in camel case.
void findUnknown(const nlohmann::json& object, const Descriptor& message,
                 std::vector<std::string>& found) {
  if (!object.is_object())
    return;
  for (const auto& [name, value] : object.items()) {
    const FieldDescriptor* field = message.FindFieldByName(name);
    if (!field)
      field = message.FindFieldByCamelcaseName(name);
    if (field)
      findUnknownOf(value, *field, found);
    else if (found.size() < mostUnknown)
      found.push_back(unknownFieldMessage(message.full_name(), name));
  }
}

Status badOverride(const std::string& why) {
  return Status::error("Invalid config override: " + why,
                       StatusCode::invalidArgument);
}

/// One line of what protobuf says, in our form.
std::string jsonReason(std::string text) {
  text = text.substr(0, std::min<size_t>(text.find('\n'), 200));
  return rewordParserMessage(text).text;
}

bool isUtf8(const std::string& text) {
  try {
    Json(text).dump();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

/// Also those of maps, whose entries are messages.
bool areUtf8(const Message& message) {
  const auto& access = *message.GetReflection();
  std::vector<const FieldDescriptor*> set;
  access.ListFields(message, &set);
  for (const FieldDescriptor* const field : set) {
    const bool isText = field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    const int size =
        field->is_repeated() ? access.FieldSize(message, field) : 1;
    for (int i = 0; (isText || field->message_type()) && i < size; ++i) {
      const bool isList = field->is_repeated();
      const bool isGood =
          isText ? isUtf8(isList ? access.GetRepeatedString(message, field, i)
                                 : access.GetString(message, field))
                 : areUtf8(isList ? access.GetRepeatedMessage(message, field, i)
                                  : access.GetMessage(message, field));
      if (!isGood)
        return false;
    }
  }
  return true;
}

} // namespace

bool areTextsUtf8(const inference::ModelConfig& config) {
  return areUtf8(config);
}

Expected<std::shared_ptr<inference::ModelConfig>>
parseConfigJson(std::string_view text) {
  const JsonRules rules = {
      .noun = "text", .maxBytes = mostJsonBytes, .maxDepth = mostJsonDepth};
  const auto json = parseJson(text, rules);
  if (!json)
    return badOverride(json.message());
  if (!json->is_object())
    return badOverride("the text must be a JSON object");
  std::vector<std::string> unknown;
  findUnknown(*json, *inference::ModelConfig::descriptor(), unknown);
  if (!unknown.empty()) {
    std::string list;
    for (const std::string& each : unknown)
      list += (list.empty() ? "" : "\n") + each;
    return badOverride(list);
  }
  google::protobuf::util::JsonParseOptions options;
  options.case_insensitive_enum_parsing = true;
  auto config = std::make_shared<inference::ModelConfig>();
  const auto parsed = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(text.data(), text.size()), config.get(),
      options);
  if (!parsed.ok())
    return badOverride(jsonReason(parsed.message().ToString()));
  return config;
}

Expected<std::string> jsonOfConfig(const inference::ModelConfig& config) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string text;
  const auto printed =
      google::protobuf::util::MessageToJsonString(config, &text, options);
  if (!printed.ok())
    return Status::error(printed.message().ToString());
  try {
    Json json = Json::parse(text);
    makeNumbers(json, *inference::ModelConfig::descriptor());
    return json.dump();
  } catch (const std::exception& error) {
    return Status::error("the configuration cannot be written as JSON: " +
                         std::string(error.what()));
  }
}

} // namespace reciperun::server
