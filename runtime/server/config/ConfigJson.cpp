// jsonOfConfig of ModelConfig.h. protobuf's own JSON writes 64-bit integers as
// texts; Triton's clients read numbers.

#include "runtime/server/config/ModelConfig.h"

#include "runtime/server/config/model_config.pb.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>
#include <nlohmann/json.hpp>

#include <exception>
#include <string>

namespace reciperun::server {
namespace {

using Json = nlohmann::ordered_json;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

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

} // namespace

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
