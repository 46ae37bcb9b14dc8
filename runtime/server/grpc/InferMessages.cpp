// See InferMessages.h.

#include "runtime/server/grpc/InferMessages.h"

#include "runtime/server/grpc/RequestParameters.h"
#include "runtime/server/grpc/TensorContents.h"
#include "runtime/server/models/RequestCheck.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

namespace reciperun::server {
namespace {

Status invalidInfer(std::string message) {
  return Status::error(std::move(message), StatusCode::invalidArgument);
}

/// Takes the inputs of a request. Raw contents are moved from a message that is
/// not constant.
template <class Message> class InputReader {
public:
  explicit InputReader(Message& message) : message(message) {}

  Status read(ReadRequest& target);

private:
  Expected<std::string> dataOf(const InputMessage& input);

  Message& message;
  int taken = 0; // raw contents
};

template <class Message>
Expected<std::string> InputReader<Message>::dataOf(const InputMessage& input) {
  const std::string& model = message.model_name();
  RECIPERUN_TRY(refuseSharedMemory(input.name(), input.parameters()));
  const int raws = message.raw_input_contents_size();
  if (input.has_contents() && raws > 0)
    return invalidInfer("contents field must not be specified when using "
                        "raw_input_contents for '" +
                        input.name() + "' for model '" + model + "'");
  if (input.has_contents())
    return readContents(input, model);
  if (taken == raws)
    return invalidInfer("unable to find data for input tensor '" +
                        input.name() + "' for model '" + model +
                        "' in request.");
  if constexpr (std::is_const_v<Message>)
    return message.raw_input_contents(taken++);
  else
    return std::move(*message.mutable_raw_input_contents(taken++));
}

template <class Message>
Status InputReader<Message>::read(ReadRequest& target) {
  for (const InputMessage& input : message.inputs()) {
    Expected<std::string> data = dataOf(input);
    RECIPERUN_TRY(data);
    const auto type = dataTypeOf(input.datatype());
    if (!type && target.untypedInput.empty())
      target.untypedInput = input.name();
    target.request.inputs.push_back(
        {.name = input.name(),
         .type = type.value_or(DataType::bytes),
         .shape = {input.shape().begin(), input.shape().end()},
         .data = *std::move(data)});
  }
  if (taken < message.raw_input_contents_size())
    return invalidInfer("unexpected additional input data for model '" +
                        message.model_name() + "'");
  return Status::ok();
}

/// Fails where two of the tensors, each a `kind`, have one name.
template <class Tensors>
Status checkNames(const char* kind, const Tensors& tensors,
                  const InferRequest& request) {
  std::set<std::string_view> names;
  for (const auto& each : tensors)
    if (!names.insert(each.name()).second)
      return withRequestId(invalidInfer(std::string(kind) + " '" + each.name() +
                                        "' already exists in request"),
                           request);
  return Status::ok();
}

template <class Message> Expected<ReadRequest> readFrom(Message& message) {
  const Expected<int64_t> version = readVersion(message.model_version());
  RECIPERUN_TRY(version);
  ReadRequest read;
  InferRequest& request = read.request;
  request.model = message.model_name();
  request.version = *version;
  request.id = message.id();
  RECIPERUN_TRY(readParameters(message, read));
  RECIPERUN_TRY(checkNames("input", message.inputs(), request));
  RECIPERUN_TRY(checkNames("output", message.outputs(), request));
  RECIPERUN_TRY(InputReader<Message>(message).read(read));
  for (const auto& each : message.outputs()) {
    const Expected<RequestedOutput> output = readOutput(each);
    RECIPERUN_TRY(output);
    request.outputs.push_back(*output);
  }
  return read;
}

void writeParameter(const Parameter& value, inference::InferParameter& target) {
  if (const auto* flag = std::get_if<bool>(&value))
    target.set_bool_param(*flag);
  else if (const auto* integer = std::get_if<int64_t>(&value))
    target.set_int64_param(*integer);
  else if (const auto* natural = std::get_if<uint64_t>(&value))
    target.set_uint64_param(*natural);
  else if (const auto* number = std::get_if<double>(&value))
    target.set_double_param(*number);
  else
    target.set_string_param(std::get<std::string>(value));
}

} // namespace

Expected<ReadRequest> readRequest(inference::ModelInferRequest&& message) {
  return readFrom(message);
}

Expected<ReadRequest> readRequest(const inference::ModelInferRequest& message) {
  return readFrom(message);
}

Expected<int64_t> readVersion(const std::string& text) {
  if (text.empty())
    return int64_t(-1);
  char* end = nullptr;
  errno = 0;
  const int64_t version = std::strtoll(text.c_str(), &end, 10);
  if (end == text.c_str() || errno == ERANGE)
    return invalidInfer(
        "failed to get model version from specified version string '" + text +
        "' (details: stol), version should be an integral value > 0");
  if (version < 0)
    return invalidInfer("invalid model version specified '" + text +
                        "' , version should be an integral value > 0");
  return version;
}

Status checkTypes(const ReadRequest& read,
                  const inference::ModelConfig& model) {
  const std::string& name = read.untypedInput;
  if (name.empty())
    return Status::ok();
  const auto input = std::ranges::find_if(
      model.input(), [&](const auto& each) { return each.name() == name; });
  if (input == model.input().end())
    return withRequestId(invalidInfer("unexpected inference input '" + name +
                                      "' for model '" + model.name() + "'"),
                         read.request);
  const auto type = dataTypeOf(int(input->data_type()));
  return withRequestId(invalidInfer("inference input '" + name +
                                    "' data-type is '<invalid>', but model '" +
                                    model.name() + "' expects '" +
                                    (type ? nameOf(*type) : "<invalid>") + "'"),
                       read.request);
}

Status writeResponse(InferResponse response,
                     inference::ModelInferResponse& message) {
  message.set_model_name(std::move(response.model));
  message.set_model_version(std::move(response.version));
  message.set_id(std::move(response.id));
  for (const auto& [name, value] : response.parameters)
    writeParameter(value, (*message.mutable_parameters())[name]);
  for (Tensor& tensor : response.outputs) {
    auto& output = *message.add_outputs();
    output.set_name(std::move(tensor.name));
    output.set_datatype(nameOf(tensor.type));
    output.mutable_shape()->Add(tensor.shape.begin(), tensor.shape.end());
    message.add_raw_output_contents(std::move(tensor.data));
  }
  const size_t size = message.ByteSizeLong();
  if (size > size_t(INT_MAX))
    return invalidInfer("Response has byte size " + std::to_string(size) +
                        " which exceeds gRPC's byte size limit " +
                        std::to_string(INT_MAX) + ".");
  return Status::ok();
}

} // namespace reciperun::server
