// A body with JSON: 1. parse it; 2. read the id and the parameters; 3. read the
// inputs, whose bytes follow the JSON in the order of the inputs; 4. no byte
// may be left; 5. read the outputs. The checks have Triton's order, because a
// client sees the first that fails.

#include "runtime/server/kserve/InferBody.h"

#include "runtime/server/kserve/TensorJson.h"
#include "runtime/server/models/RequestCheck.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace reciperun::server {
namespace {

constexpr int64_t mostElements = std::numeric_limits<int64_t>::max();
constexpr size_t longestSequenceName = 128;
constexpr const char* sizeRemedy =
    " bytes. Use --http-max-input-size to increase the limit.";

Status invalid(std::string message) {
  return Status::error(std::move(message), StatusCode::invalidArgument);
}

Status sharedMemoryMissing(std::string_view region) {
  return Status::error("Unable to find shared memory region: '" +
                           std::string(region) + "'",
                       StatusCode::notFound);
}

/// The member of `parameters` of an input or output; null without it.
const JsonValue* findSetting(const JsonValue& tensor, const char* name) {
  const JsonValue* const settings = findMember(tensor, "parameters");
  return settings ? findMember(*settings, name) : nullptr;
}

Status checkShape(const std::string& input, std::span<const int64_t> shape) {
  const std::string start =
      "invalid shape for input '" + input + "': shape " + textOf(shape);
  if (std::ranges::any_of(shape, [](int64_t size) { return size < 0; }))
    return invalid(start + " contains one or more invalid dimensions");
  if (std::ranges::find(shape, 0) == shape.end() && !elementsOf(shape))
    return invalid(start +
                   " causes total element count to exceed maximum size of " +
                   std::to_string(mostElements));
  return Status::ok();
}

/// The number of elements of a valid shape. Like in Triton, a shape without
/// dimensions has none.
int64_t countElements(std::span<const int64_t> shape) {
  return shape.empty() || std::ranges::find(shape, 0) != shape.end()
             ? 0
             : *elementsOf(shape);
}

/// Checks that exactly one of the three sources of an input's data is given.
Status checkSources(const JsonValue& input) {
  const char* const names[] = {"data", "binary_data_size",
                               "shared_memory_region"};
  const bool has[] = {findMember(input, names[0]) != nullptr,
                      findSetting(input, names[1]) != nullptr,
                      findSetting(input, names[2]) != nullptr};
  const auto count = std::ranges::count(has, true);
  if (count == 1)
    return Status::ok();
  std::string text =
      "Input must set only one of the following fields: 'data', "
      "'binary_data_size' in 'parameters', 'shared_memory_region' in "
      "'parameters'. But";
  text += count == 0 ? " no field is set" : " set";
  for (size_t i = 0; i < std::size(has); ++i)
    if (has[i])
      text += " '" + std::string(names[i]) + "'";
  return invalid(std::move(text));
}

class InferBodyReader {
public:
  InferBodyReader(const ModelMetadata& model, const RequestJson& json,
                  std::string_view binary, bool hasBinary, size_t mostBytes)
      : model(model), json(json), binary(binary), hasBinary(hasBinary),
        mostBytes(mostBytes) {}

  Expected<InferCall> read();

private:
  Status readId(const JsonValue& body);
  Status readParameters(const JsonValue& body);
  Status readParameter(const std::string& name, const JsonValue& value);
  Status readSequence(const JsonValue& value);
  Status readInputs(const JsonValue& body);
  Status readInput(const JsonValue& input);
  Expected<std::vector<int64_t>> readShape(const JsonValue& input);
  Status readData(const JsonValue& input, std::optional<DataType> type,
                  Tensor& tensor);
  Status readJsonData(const JsonValue& input, std::optional<DataType> type,
                      Tensor& tensor);
  Status readBinaryData(const JsonValue& size, Tensor& tensor);
  Status wrongDataType(const std::string& input) const;
  Status readOutputs(const JsonValue& body);
  Status readOutput(const JsonValue& output);

  /// An error that names the request.
  Status refused(std::string message) const {
    return withRequestId(invalid(std::move(message)), call.request);
  }

  const ModelMetadata& model;
  const RequestJson& json;
  std::string_view binary; // not yet taken by inputs
  bool hasBinary;          // the request says where the JSON ends
  size_t mostBytes;
  std::set<std::string, std::less<>> inputNames;
  InferCall call;
};

Expected<InferCall> InferBodyReader::read() {
  const JsonValue& body = json.values;
  RECIPERUN_TRY(readId(body));
  RECIPERUN_TRY(readParameters(body));
  RECIPERUN_TRY(readInputs(body));
  if (!binary.empty())
    return invalid("unexpected additional input data for model '" + model.name +
                   "'");
  RECIPERUN_TRY(readOutputs(body));
  return std::move(call);
}

Status InferBodyReader::readId(const JsonValue& body) {
  const JsonValue* const id = findMember(body, "id");
  if (!id)
    return Status::ok();
  const auto text = stringOf(*id);
  RECIPERUN_TRY(unableToParse("id", text.status()));
  call.request.id = *text;
  return Status::ok();
}

// ---- parameters

/// Reads a parameter that has a type of its own.
template <class T>
Status readTyped(const std::string& name, const Expected<T>& value, T& target) {
  RECIPERUN_TRY(unableToParse(name.c_str(), value.status()));
  target = *value;
  return Status::ok();
}

Status InferBodyReader::readParameters(const JsonValue& body) {
  const JsonValue* const parameters = findMember(body, "parameters");
  if (!parameters)
    return Status::ok();
  RECIPERUN_TRY(
      expectObject(*parameters).withContext("failed to get request params."));
  for (const auto& each : parameters->GetObject())
    RECIPERUN_TRY(readParameter(std::string(nameOf(each)), each.value));
  return Status::ok();
}

Status InferBodyReader::readParameter(const std::string& name,
                                      const JsonValue& value) {
  InferRequest& request = call.request;
  if (name == "sequence_id")
    return readSequence(value);
  if (name == "sequence_start")
    return readTyped(name, boolOf(value), request.isSequenceStart);
  if (name == "sequence_end")
    return readTyped(name, boolOf(value), request.isSequenceEnd);
  if (name == "priority")
    return readTyped(name, unsignedOf(value), request.priority);
  if (name == "timeout")
    return readTyped(name, unsignedOf(value), request.timeoutMicroseconds);
  if (name == "binary_data_output")
    return readTyped(name, boolOf(value), call.sendsOthersBinary);
  if (name.starts_with("triton_"))
    return invalid("parameter keys starting with 'triton_' are reserved for "
                   "Triton usage and should not be specified.");
  return addParameter(name, value, request.parameters);
}

Status InferBodyReader::readSequence(const JsonValue& value) {
  if (const auto number = unsignedOf(value)) {
    call.request.sequence = *number;
    return Status::ok();
  }
  const auto text = stringOf(value);
  RECIPERUN_TRY(unableToParse("sequence_id", text.status()));
  if (text->size() > longestSequenceName)
    return Status::error(
        "string correlation ID cannot be longer than 128 characters",
        StatusCode::unsupported);
  call.request.sequence = std::string(*text);
  return Status::ok();
}

// ---- inputs

Status InferBodyReader::readInputs(const JsonValue& body) {
  const auto inputs = arrayMember(body, "inputs");
  RECIPERUN_TRY(unableToParse("inputs", inputs.status()));
  for (const JsonValue& each : (*inputs)->GetArray())
    RECIPERUN_TRY(readInput(each));
  return Status::ok();
}

Status InferBodyReader::readInput(const JsonValue& input) {
  RECIPERUN_TRY(checkSources(input));
  const auto name = stringMember(input, "name");
  RECIPERUN_TRY(unableToParse("name", name.status()));
  const auto datatype = stringMember(input, "datatype");
  RECIPERUN_TRY(unableToParse("datatype", datatype.status()));
  auto shape = readShape(input);
  RECIPERUN_TRY(unableToParse("shape", shape.status()));
  if (!inputNames.emplace(*name).second)
    return refused("input '" + std::string(*name) +
                   "' already exists in request");
  Tensor tensor;
  tensor.name = *name;
  tensor.shape = *std::move(shape);
  const std::optional<DataType> type = dataTypeOf(*datatype);
  tensor.type = type.value_or(DataType::bytes);
  RECIPERUN_TRY(readData(input, type, tensor));
  call.request.inputs.push_back(std::move(tensor));
  return Status::ok();
}

Expected<std::vector<int64_t>>
InferBodyReader::readShape(const JsonValue& input) {
  const auto sizes = arrayMember(input, "shape");
  RECIPERUN_TRY(sizes);
  std::vector<int64_t> shape;
  for (const JsonValue& each : (*sizes)->GetArray()) {
    const auto size = unsignedOf(each);
    RECIPERUN_TRY(size);
    shape.push_back(int64_t(*size)); // checkShape finds those above 2^63 - 1
  }
  return shape;
}

/// Reads the data of an input. `type` is empty if the datatype is unknown.
Status InferBodyReader::readData(const JsonValue& input,
                                 std::optional<DataType> type, Tensor& tensor) {
  if (const JsonValue* size = findSetting(input, "binary_data_size")) {
    RECIPERUN_TRY(readBinaryData(*size, tensor));
    RECIPERUN_TRY(checkShape(tensor.name, tensor.shape));
    return type ? Status::ok() : wrongDataType(tensor.name);
  }
  if (const JsonValue* region = findSetting(input, "shared_memory_region")) {
    const auto name = stringOf(*region);
    RECIPERUN_TRY(unableToParse("shared_memory_region", name.status()));
    return sharedMemoryMissing(*name);
  }
  RECIPERUN_TRY(checkShape(tensor.name, tensor.shape));
  return countElements(tensor.shape) == 0 ? Status::ok()
                                          : readJsonData(input, type, tensor);
}

Status InferBodyReader::readJsonData(const JsonValue& input,
                                     std::optional<DataType> type,
                                     Tensor& tensor) {
  const auto data = arrayMember(input, "data");
  RECIPERUN_TRY(unableToParse("data", data.status()));
  const JsonElements& given = json.elementsOf(**data);
  if (!type)
    return invalid("invalid datatype for input " + tensor.name);
  const int64_t elements = countElements(tensor.shape);
  int64_t bytes = 0;
  if (*type == DataType::bytes) {
    const auto strings = bytesOfStrings(given);
    RECIPERUN_TRY(strings);
    bytes = int64_t(*strings);
  } else if (__builtin_mul_overflow(elements, int64_t(bytesOf(*type)), &bytes))
    return invalid("byte size overflow for input '" + tensor.name +
                   "': element count (" + std::to_string(elements) +
                   ") * data type size (" + std::to_string(bytesOf(*type)) +
                   ") exceeds maximum allowed size (" +
                   std::to_string(mostElements) + ")");
  if (uint64_t(bytes) > mostBytes)
    return invalid("JSON input '" + tensor.name + "' has a byte_size (" +
                   std::to_string(bytes) +
                   " bytes) that exceeds the maximum allowed value of " +
                   std::to_string(mostBytes) + sizeRemedy);
  auto read = readElements(tensor.name, given, *type, elements);
  RECIPERUN_TRY(read);
  tensor.data = *std::move(read);
  return Status::ok();
}

Status InferBodyReader::readBinaryData(const JsonValue& size, Tensor& tensor) {
  const auto bytes = unsignedOf(size);
  RECIPERUN_TRY(unableToParse("binary_data_size", bytes.status()));
  if (*bytes > 0 && !hasBinary)
    return invalid("must specify valid 'Infer-Header-Content-Length' in "
                   "request header and 'binary_data_size' when passing inputs "
                   "in binary data format");
  if (*bytes > binary.size())
    return invalid("unexpected size for input '" + tensor.name +
                   "', expecting " + std::to_string(*bytes - binary.size()) +
                   " additional bytes for model '" + model.name + "'");
  tensor.data = binary.substr(0, size_t(*bytes));
  binary.remove_prefix(size_t(*bytes));
  return Status::ok();
}

Status InferBodyReader::wrongDataType(const std::string& input) const {
  for (const TensorMetadata& each : model.inputs)
    if (each.name == input)
      return refused("inference input '" + input +
                     "' data-type is '<invalid>', but model '" + model.name +
                     "' expects '" + nameOf(each.type) + "'");
  return invalid("invalid datatype for input " + input);
}

// ---- outputs

Status InferBodyReader::readOutputs(const JsonValue& body) {
  if (!findMember(body, "outputs"))
    return Status::ok();
  const auto outputs = arrayMember(body, "outputs");
  RECIPERUN_TRY(unableToParse("outputs", outputs.status()));
  for (const JsonValue& each : (*outputs)->GetArray())
    RECIPERUN_TRY(readOutput(each));
  return Status::ok();
}

Status InferBodyReader::readOutput(const JsonValue& output) {
  const JsonValue* const region = findSetting(output, "shared_memory_region");
  const JsonValue* const classes = findSetting(output, "classification");
  const JsonValue* const binaryData = findSetting(output, "binary_data");
  if (region && classes)
    return invalid("Output can't set both 'shared_memory_region' and "
                   "'classification'");
  if (region && binaryData && binaryData->IsTrue())
    return invalid(
        "Output can't set both 'shared_memory_region' and 'binary_data'");
  const auto name = stringMember(output, "name");
  RECIPERUN_TRY(unableToParse("name", name.status()));
  if (!call.isBinary.emplace(*name, false).second)
    return refused("output '" + std::string(*name) +
                   "' already exists in request");
  RequestedOutput requested{std::string(*name)};
  if (classes) {
    const auto count = unsignedOf(*classes);
    RECIPERUN_TRY(count.status().withContext("Unable to set 'classification'"));
    requested.classes = int64_t(std::min(*count, uint64_t(mostElements)));
  }
  if (region) {
    const auto text = stringOf(*region);
    RECIPERUN_TRY(unableToParse("shared_memory_region", text.status()));
    return sharedMemoryMissing(*text);
  }
  if (binaryData)
    RECIPERUN_TRY(readTyped("binary_data", boolOf(*binaryData),
                            call.isBinary.find(*name)->second));
  call.request.outputs.push_back(std::move(requested));
  return Status::ok();
}

// ---- a body without JSON

/// The error of a request without JSON, which has no id.
Status refusedRaw(std::string message) {
  return withRequestId(invalid(std::move(message)), InferRequest());
}

/// The shape of a body of `bytes` bytes: the model's, with batch size 1 and one
/// variable dimension derived from the bytes.
Expected<std::vector<int64_t>> shapeOfBytes(const TensorMetadata& input,
                                            bool isBatched, size_t bytes) {
  std::vector<int64_t> shape = input.shape;
  if (isBatched && !shape.empty())
    shape[0] = 1;
  const auto variable = std::ranges::count(shape, -1);
  if (variable > 1)
    return refusedRaw("The shape of the raw input '" + input.name +
                      "' can not be deduced because there are more than one "
                      "variable-sized dimension");
  int64_t fixed = 1; // elements
  for (const int64_t size : shape)
    fixed *= size == -1 ? 1 : size;
  if (input.type == DataType::bytes && (variable > 0 || fixed != 1))
    return refusedRaw("For BYTE datatype raw input '" + input.name +
                      "', the model must have input shape [1]");
  if (variable > 0 && fixed > 0)
    *std::ranges::find(shape, -1) =
        int64_t(bytes / bytesOf(input.type)) / fixed;
  return shape;
}

Expected<InferCall> readRawBody(const ModelMetadata& model,
                                std::string_view body, size_t mostBytes) {
  if (body.size() > mostBytes)
    return invalid("Raw input has a byte_size (" + std::to_string(body.size()) +
                   " bytes) that exceeds the maximum allowed value of " +
                   std::to_string(mostBytes) + sizeRemedy);
  if (model.inputs.size() != 1)
    return refusedRaw(
        "Raw request must only have 1 input (found 1) to be deduced "
        "but got " +
        std::to_string(model.inputs.size()) + " inputs in '" + model.name +
        "' model configuration");
  const TensorMetadata& input = model.inputs[0];
  auto shape = shapeOfBytes(input, model.isBatched, body.size());
  RECIPERUN_TRY(shape);
  InferCall call;
  call.sendsOthersBinary = true;
  Tensor& tensor = call.request.inputs.emplace_back();
  tensor.name = input.name;
  tensor.type = input.type;
  tensor.shape = *std::move(shape);
  if (input.type == DataType::bytes)
    appendBytes(tensor.data, body);
  else
    tensor.data = body;
  return call;
}

} // namespace

Status addParameter(const std::string& name, const JsonValue& value,
                    Parameters& parameters) {
  if (value.IsString())
    parameters[name] = std::string(value.GetString(), value.GetStringLength());
  else if (value.IsInt64())
    parameters[name] = value.GetInt64();
  else if (value.IsBool())
    parameters[name] = value.GetBool();
  else if (value.IsNumber())
    parameters[name] = value.GetDouble();
  else
    return invalid("parameter '" + name +
                   "' has invalid type. It should be either 'int', 'bool', or "
                   "'string'.");
  return Status::ok();
}

Expected<InferCall> readInferBody(const ModelMetadata& model,
                                  std::string_view body,
                                  std::optional<size_t> jsonBytes,
                                  size_t mostBytes) {
  const size_t size = jsonBytes.value_or(body.size());
  if (size == 0)
    return readRawBody(model, body, mostBytes);
  const auto json =
      parseRequestJson(body.substr(0, size), mostBytes, ElementPlace::inputs);
  RECIPERUN_TRY(json);
  return InferBodyReader(model, *json, body.substr(size), jsonBytes.has_value(),
                         mostBytes)
      .read();
}

} // namespace reciperun::server
