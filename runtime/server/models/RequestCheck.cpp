// See RequestCheck.h. The order of the checks is Triton's, so that a request
// with several mistakes gets the same message.

#include "runtime/server/models/RequestCheck.h"

#include "runtime/server/config/model_config.pb.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

namespace reciperun::server {
namespace {

using inference::ModelConfig;
using inference::ModelInput;

Status invalid(const std::string& message) {
  return Status::error(message, StatusCode::invalidArgument);
}

std::string quoted(const std::string& text) {
  return "'" + text + "'";
}

/// `['A','B']`
std::string listOf(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? "" : ",") + quoted(name);
  return "[" + text + "]";
}

const ModelInput* findInput(const ModelConfig& config,
                            const std::string& name) {
  for (const ModelInput& each : config.input())
    if (each.name() == name)
      return &each;
  return nullptr;
}

Status checkOutputs(const ModelConfig& config, const InferRequest& request) {
  for (const RequestedOutput& asked : request.outputs)
    if (std::ranges::none_of(config.output(), [&](const auto& output) {
          return output.name() == asked.name;
        }))
      return invalid("unexpected inference output " + quoted(asked.name) +
                     " for model " + quoted(config.name()));
  return Status::ok();
}

Status checkInputCount(const ModelConfig& config, const InferRequest& request) {
  std::vector<std::string> given, missing;
  for (const Tensor& tensor : request.inputs)
    given.push_back(tensor.name);
  std::ranges::sort(given);
  size_t required = 0;
  for (const ModelInput& input : config.input()) {
    required += !input.optional();
    if (!input.optional() && !std::ranges::binary_search(given, input.name()))
      missing.push_back(input.name());
  }
  const auto all = size_t(config.input_size());
  if (missing.empty() && given.size() >= required && given.size() <= all)
    return Status::ok();
  const std::string count = required == all
                                ? "expected " + std::to_string(all)
                                : "expected number of inputs between " +
                                      std::to_string(required) + " and " +
                                      std::to_string(all);
  return invalid(count + (required == all ? " inputs" : "") + " but got " +
                 std::to_string(given.size()) + " inputs for model " +
                 quoted(config.name()) + ". Got input(s) " + listOf(given) +
                 ", but missing required input(s) " + listOf(missing) +
                 ". Please provide all required input(s).");
}

/// The first dimension, which all inputs have in common.
Expected<int64_t> batchOf(const ModelConfig& config,
                          const InferRequest& request) {
  std::optional<int64_t> batch;
  for (const Tensor& tensor : request.inputs) {
    const std::string input = "input " + quoted(tensor.name);
    if (tensor.shape.empty())
      return invalid(input +
                     " has no shape but model requires batch dimension for " +
                     quoted(config.name()));
    if (batch && *batch != tensor.shape[0])
      return invalid(input + " batch size does not match other inputs for " +
                     quoted(config.name()));
    batch = tensor.shape[0];
  }
  if (!batch) // all inputs are optional
    return 1;
  if (*batch < 1 || *batch > config.max_batch_size())
    return invalid("inference request batch-size must be <= " +
                   std::to_string(config.max_batch_size()) + " for " +
                   quoted(config.name()));
  return *batch;
}

Status checkShape(const ModelConfig& config, const ModelInput& input,
                  const Tensor& tensor) {
  std::vector<int64_t> wanted;
  const bool batches = config.max_batch_size() > 0;
  if (batches)
    wanted.push_back(-1);
  wanted.insert(wanted.end(), input.dims().begin(), input.dims().end());
  const bool fits =
      std::ranges::equal(wanted, tensor.shape, [](int64_t want, int64_t have) {
        return want == -1 || want == have;
      });
  if (fits)
    return Status::ok();
  return invalid(
      "unexpected shape for input " + quoted(tensor.name) + " for model " +
      quoted(config.name()) + ". Expected " + textOf(wanted) + ", got " +
      textOf(tensor.shape) + ". " +
      (batches ? "NOTE: Setting a non-zero max_batch_size in the model config "
                 "requires a batch dimension to be prepended to each input "
                 "shape. If you want to specify the full shape including the "
                 "batch dim in your input dims config, try setting "
                 "max_batch_size to zero. See the model configuration docs for "
                 "more info on max_batch_size."
               : ""));
}

/// The data of BYTES has an element for each of the shape.
Status checkElements(const ModelConfig& config, const Tensor& tensor,
                     int64_t elements) {
  const std::string place = " for inference input " + quoted(tensor.name) +
                            " for model " + quoted(config.name());
  std::string_view rest = tensor.data;
  int64_t found = 0;
  for (; !rest.empty(); ++found) {
    uint32_t size = 0;
    if (found == elements)
      return invalid("unexpected number of string elements " +
                     std::to_string(found + 1) + place + ", expecting " +
                     std::to_string(elements));
    if (rest.size() < sizeof size)
      return invalid("incomplete string length indicator" + place +
                     ", expecting " + std::to_string(sizeof size) +
                     " bytes but only " + std::to_string(rest.size()) +
                     " bytes available. Please make sure the string length "
                     "indicator is in one buffer.");
    std::memcpy(&size, rest.data(), sizeof size);
    rest.remove_prefix(sizeof size);
    if (rest.size() < size)
      return invalid("incomplete string data" + place +
                     ", expecting string of length " + std::to_string(size) +
                     " but only " + std::to_string(rest.size()) +
                     " bytes available.");
    rest.remove_prefix(size);
  }
  if (found == elements)
    return Status::ok();
  return invalid("expected " + std::to_string(elements) + " string elements" +
                 place + ", got " + std::to_string(found));
}

Status checkSize(const ModelConfig& config, const Tensor& tensor) {
  const std::optional<int64_t> elements = elementsOf(tensor.shape);
  if (!elements)
    return invalid("invalid shape for input " + quoted(tensor.name) +
                   ": shape " + textOf(tensor.shape) +
                   " contains one or more invalid dimensions");
  if (tensor.type == DataType::bytes)
    return checkElements(config, tensor, *elements);
  const auto size = int64_t(bytesOf(tensor.type));
  int64_t bytes = 0;
  if (!__builtin_mul_overflow(*elements, size, &bytes) &&
      uint64_t(bytes) == tensor.data.size())
    return Status::ok();
  return invalid("input byte size mismatch for input " + quoted(tensor.name) +
                 " for model " + quoted(config.name()) + ". Expected " +
                 std::to_string(bytes) + ", got " +
                 std::to_string(tensor.data.size()));
}

Status checkTensor(const ModelConfig& config, const Tensor& tensor) {
  const ModelInput* const input = findInput(config, tensor.name);
  if (!input)
    return invalid("unexpected inference input " + quoted(tensor.name) +
                   " for model " + quoted(config.name()));
  const std::optional<DataType> type = dataTypeOf(int(input->data_type()));
  if (type && *type != tensor.type)
    return invalid("inference input " + quoted(tensor.name) + " data-type is " +
                   quoted(nameOf(tensor.type)) + ", but model " +
                   quoted(config.name()) + " expects " + quoted(nameOf(*type)));
  RECIPERUN_TRY(checkShape(config, *input, tensor));
  return checkSize(config, tensor);
}

Expected<int64_t> check(const ModelConfig& config,
                        const InferRequest& request) {
  RECIPERUN_TRY(checkOutputs(config, request));
  RECIPERUN_TRY(checkInputCount(config, request));
  Expected<int64_t> batch = 1;
  if (config.max_batch_size() > 0)
    batch = batchOf(config, request);
  RECIPERUN_TRY(batch);
  for (const Tensor& tensor : request.inputs)
    RECIPERUN_TRY(checkTensor(config, tensor));
  return batch;
}

} // namespace

Expected<int64_t> checkRequest(const inference::ModelConfig& config,
                               const InferRequest& request) {
  Expected<int64_t> batch = check(config, request);
  if (!batch)
    return withRequestId(batch.status(), request);
  return batch;
}

Status withRequestId(const Status& failure, const InferRequest& request) {
  if (failure.isOk())
    return failure;
  return Status::error(
      "[request id: " + (request.id.empty() ? "<id_unknown>" : request.id) +
          "] " + failure.message(),
      failure.code());
}

std::optional<DataType> dataTypeOf(int configType) {
  switch (inference::DataType(configType)) {
  case inference::TYPE_BOOL:
    return DataType::boolean;
  case inference::TYPE_UINT8:
    return DataType::uint8;
  case inference::TYPE_UINT16:
    return DataType::uint16;
  case inference::TYPE_UINT32:
    return DataType::uint32;
  case inference::TYPE_UINT64:
    return DataType::uint64;
  case inference::TYPE_INT8:
    return DataType::int8;
  case inference::TYPE_INT16:
    return DataType::int16;
  case inference::TYPE_INT32:
    return DataType::int32;
  case inference::TYPE_INT64:
    return DataType::int64;
  case inference::TYPE_FP16:
    return DataType::fp16;
  case inference::TYPE_BF16:
    return DataType::bf16;
  case inference::TYPE_FP32:
    return DataType::fp32;
  case inference::TYPE_FP64:
    return DataType::fp64;
  case inference::TYPE_STRING:
    return DataType::bytes;
  default:
    return std::nullopt;
  }
}

} // namespace reciperun::server
