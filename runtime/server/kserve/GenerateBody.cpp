// See GenerateBody.h.

#include "runtime/server/kserve/GenerateBody.h"

#include "runtime/server/kserve/InferBody.h"
#include "runtime/server/kserve/TensorJson.h"
#include "runtime/server/models/RequestCheck.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace reciperun::server {
namespace {

Status invalidBody(std::string message) {
  return Status::error(std::move(message), StatusCode::invalidArgument);
}

Status noProperShape(const std::string& input) {
  return invalidBody("The schema can not convert input '" + input +
                     "' to tensor with proper shape");
}

/// The shape of an input of the model that has so many elements.
Expected<std::vector<int64_t>> shapeOfElements(const TensorMetadata& input,
                                               int64_t elements) {
  std::vector<int64_t> shape = input.shape;
  for (const int64_t size : shape) {
    if (size != -1 && (size <= 0 || elements % size != 0))
      return noProperShape(input.name);
    elements /= size == -1 ? 1 : size;
  }
  for (auto size = shape.rbegin(); size != shape.rend(); ++size)
    if (*size == -1)
      *size = std::exchange(elements, 1);
  if (elements != 1)
    return noProperShape(input.name);
  return shape;
}

/// A scalar as the only element; no elements for an array.
JsonElements elementOfScalar(const JsonValue& value) {
  JsonElements element;
  if (value.IsBool())
    element.addBool(value.GetBool());
  else if (value.IsInt64())
    element.addInteger(value.GetInt64());
  else if (value.IsUint64())
    element.addUnsigned(value.GetUint64());
  else if (value.IsNumber())
    element.addReal(value.GetDouble());
  else if (value.IsString())
    element.addText({value.GetString(), value.GetStringLength()});
  else if (!value.IsArray())
    element.addOther();
  return element;
}

class GenerateBodyReader {
public:
  GenerateBodyReader(const ModelMetadata& model, const RequestJson& json,
                     size_t mostBytes)
      : model(model), json(json), mostBytes(mostBytes) {}

  Expected<InferRequest> read();

private:
  Status readId(const JsonValue& body);
  Status readMembers(const JsonValue& object, bool isNested);
  Status readNested(const JsonValue& parameters);
  Status readMember(const std::string& name, const JsonValue& value,
                    bool isNested);
  Status readInput(const TensorMetadata& input, const JsonValue& value);
  Status addInput(const TensorMetadata& input, std::vector<int64_t> shape,
                  std::string data);
  Status takeBytes(const TensorMetadata& input, size_t bytes);
  const TensorMetadata* findInput(std::string_view name) const;

  const ModelMetadata& model;
  const RequestJson& json;
  size_t mostBytes;
  size_t taken = 0;                         // bytes of the inputs so far
  std::set<std::string, std::less<>> given; // names of inputs
  InferRequest request;
};

Expected<InferRequest> GenerateBodyReader::read() {
  const JsonValue& body = json.values;
  RECIPERUN_TRY(readId(body));
  RECIPERUN_TRY(expectObject(body));
  RECIPERUN_TRY(readMembers(body, /*isNested=*/false));
  return std::move(request);
}

Status GenerateBodyReader::readId(const JsonValue& body) {
  const JsonValue* const id = findMember(body, "id");
  if (!id)
    return Status::ok();
  const auto text = stringOf(*id);
  RECIPERUN_TRY(unableToParse("id", text.status()));
  request.id = *text;
  return Status::ok();
}

Status GenerateBodyReader::readMembers(const JsonValue& object, bool isNested) {
  for (const auto& each : object.GetObject())
    RECIPERUN_TRY(readMember(std::string(nameOf(each)), each.value, isNested));
  return Status::ok();
}

Status GenerateBodyReader::readMember(const std::string& name,
                                      const JsonValue& value, bool isNested) {
  if (name == "parameters" && !isNested)
    return readNested(value);
  if (const TensorMetadata* input = findInput(name))
    return readInput(*input, value);
  if (name == "id" && !isNested)
    return Status::ok();
  return addParameter(name, value, request.parameters);
}

Status GenerateBodyReader::readNested(const JsonValue& parameters) {
  if (findInput("parameters"))
    return invalidBody("Keyword 'parameters' for nested schema also given as "
                       "input tensor name");
  if (!parameters.IsObject())
    return Status::error("Expected JSON object for keyword: 'parameters': "
                         "attempt to access JSON non-object as object");
  return readMembers(parameters, /*isNested=*/true)
      .withContext("Converting keyword: 'parameters'");
}

const TensorMetadata*
GenerateBodyReader::findInput(std::string_view name) const {
  const auto found =
      std::ranges::find(model.inputs, name, &TensorMetadata::name);
  return found == model.inputs.end() ? nullptr : &*found;
}

Status GenerateBodyReader::readInput(const TensorMetadata& input,
                                     const JsonValue& value) {
  const JsonElements scalar = elementOfScalar(value);
  const JsonElements& given = value.IsArray() ? json.elementsOf(value) : scalar;
  const auto elements = int64_t(value.IsArray() ? given.listSize() : 1);
  size_t bytes = size_t(elements) * bytesOf(input.type);
  if (input.type == DataType::bytes) {
    const auto strings = bytesOfStrings(given);
    RECIPERUN_TRY(strings);
    bytes = *strings;
  }
  if (bytes == 0)
    return addInput(input, {}, "");
  RECIPERUN_TRY(takeBytes(input, bytes));
  auto shape = shapeOfElements(input, elements);
  RECIPERUN_TRY(shape);
  auto data = readElements(input.name, given, input.type, elements);
  RECIPERUN_TRY(data);
  return addInput(input, *std::move(shape), *std::move(data));
}

Status GenerateBodyReader::takeBytes(const TensorMetadata& input,
                                     size_t bytes) {
  if (bytes > mostBytes - taken)
    return invalidBody("request size of " + std::to_string(taken) +
                       " bytes with input '" + input.name + "' of size " +
                       std::to_string(bytes) +
                       " bytes exceeds the maximum allowed input size of " +
                       std::to_string(mostBytes) +
                       ". Use --http-max-input-size to increase the limit.");
  taken += bytes;
  return Status::ok();
}

Status GenerateBodyReader::addInput(const TensorMetadata& input,
                                    std::vector<int64_t> shape,
                                    std::string data) {
  if (!given.insert(input.name).second)
    return withRequestId(
        invalidBody("input '" + input.name + "' already exists in request"),
        request);
  request.inputs.push_back(
      {input.name, input.type, std::move(shape), std::move(data)});
  return Status::ok();
}

/// What writes the value of a member of an answer.
struct MemberWriter {
  JsonWriter& writer;

  Status operator()(std::string_view text) const {
    writeString(writer, text);
    return Status::ok();
  }
  Status operator()(const Parameter* parameter) const {
    writeParameter(writer, *parameter);
    return Status::ok();
  }
  Status operator()(const Tensor* output) const {
    return writeElementsOrScalar(writer, *output);
  }
};

} // namespace

Expected<InferRequest> readGenerateBody(const ModelMetadata& model,
                                        std::string_view body,
                                        size_t mostBytes) {
  const auto json = parseRequestJson(body, mostBytes, ElementPlace::members);
  RECIPERUN_TRY(json);
  return GenerateBodyReader(model, *json, mostBytes).read();
}

Expected<std::string> generateAnswerOf(const InferResponse& response) {
  using Member =
      std::variant<std::string_view, const Parameter*, const Tensor*>;
  std::map<std::string_view, Member> members; // the first of a name counts
  if (!response.id.empty())
    members.emplace("id", response.id);
  members.emplace("model_name", response.model);
  members.emplace("model_version", response.version);
  for (const auto& [name, value] : response.parameters)
    members.emplace(name, &value);
  for (const Tensor& each : response.outputs)
    members.emplace(each.name, &each);
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartObject();
  for (const auto& [name, value] : members) {
    writeKey(writer, name);
    RECIPERUN_TRY(std::visit(MemberWriter{writer}, value));
  }
  writer.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize());
}

} // namespace reciperun::server
