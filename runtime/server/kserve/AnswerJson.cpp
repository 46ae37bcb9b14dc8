// See AnswerJson.h.

#include "runtime/server/kserve/AnswerJson.h"

#include "runtime/data/Utf8.h"

namespace reciperun::server {
namespace {

/// Writes a value of a parameter.
struct ParameterWriter {
  JsonWriter& writer;

  void operator()(bool value) const { writer.Bool(value); }
  void operator()(int64_t value) const { writer.Int64(value); }
  void operator()(uint64_t value) const { writer.Uint64(value); }
  void operator()(double value) const { writer.Double(value); }
  void operator()(const std::string& value) const {
    writeString(writer, value);
  }
};

} // namespace

void writeString(JsonWriter& writer, std::string_view text) {
  if (data::firstIllFormed(text) == std::string_view::npos) {
    writer.String(text.data(), rapidjson::SizeType(text.size()));
    return;
  }
  const std::string replaced = data::replaceIllFormed(text);
  writer.String(replaced.data(), rapidjson::SizeType(replaced.size()));
}

void writeKey(JsonWriter& writer, std::string_view name) {
  writeString(writer, name);
}

void writeParameter(JsonWriter& writer, const Parameter& parameter) {
  std::visit(ParameterWriter{writer}, parameter);
}

void writeMember(JsonWriter& writer, std::string_view name,
                 std::string_view text) {
  writeKey(writer, name);
  writeString(writer, text);
}

std::string errorJson(std::string_view message) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartObject();
  writeMember(writer, "error", message);
  writer.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

int httpStatusOf(StatusCode code) {
  switch (code) {
  case StatusCode::internal:
    return 500;
  case StatusCode::notFound:
    return 404;
  case StatusCode::unavailable:
    return 503;
  case StatusCode::unsupported:
    return 501;
  case StatusCode::invalidArgument:
  case StatusCode::alreadyExists:
  case StatusCode::cancelled:
  case StatusCode::unknown:
    return 400;
  }
  return 400;
}

int httpStatusOf(const Status& status) {
  return status.isOk() ? 200 : httpStatusOf(status.code());
}

} // namespace reciperun::server
