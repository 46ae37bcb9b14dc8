// See RequestParameters.h.

#include "runtime/server/grpc/RequestParameters.h"

#include <array>
#include <string_view>
#include <utility>

namespace reciperun::server {
namespace {

using inference::InferParameter;

constexpr const char* emptyFinal = "triton_enable_empty_final_response";

Status invalidParameter(std::string message) {
  return Status::error(std::move(message), StatusCode::invalidArgument);
}

Status wrongType(const std::string& name, const char* expected) {
  return invalidParameter("invalid value type for '" + name +
                          "' parameter, expected " + expected + ".");
}

Status readFlag(const std::string& name, const InferParameter& value,
                bool& target) {
  if (!value.has_bool_param())
    return wrongType(name, "bool_param");
  target = value.bool_param();
  return Status::ok();
}

Status readSequenceId(const std::string& name, const InferParameter& value,
                      SequenceId& target) {
  if (value.has_int64_param())
    target = uint64_t(value.int64_param());
  else if (value.has_string_param())
    target = value.string_param();
  else
    return wrongType(name, "int64_param or string_param");
  return Status::ok();
}

Status readPriority(const std::string& name, const InferParameter& value,
                    uint64_t& target) {
  if (value.has_uint64_param()) {
    target = value.uint64_param();
    return Status::ok();
  }
  if (!value.has_int64_param())
    return wrongType(name, "int64_param or uint64_param");
  if (value.int64_param() < 0)
    return invalidParameter("invalid value for 'priority', expected value >= "
                            "0.");
  target = uint64_t(value.int64_param());
  return Status::ok();
}

Status readTimeout(const std::string& name, const InferParameter& value,
                   uint64_t& target) {
  if (!value.has_int64_param())
    return wrongType(name, "int64_param");
  if (value.int64_param() < 0)
    return invalidParameter("invalid value for 'timeout', expected value >= "
                            "0.");
  target = uint64_t(value.int64_param());
  return Status::ok();
}

Status readOther(const std::string& name, const InferParameter& value,
                 Parameters& target) {
  switch (value.parameter_choice_case()) {
  case InferParameter::kBoolParam:
    target[name] = value.bool_param();
    return Status::ok();
  case InferParameter::kInt64Param:
    target[name] = int64_t(value.int64_param());
    return Status::ok();
  case InferParameter::kStringParam:
    target[name] = value.string_param();
    return Status::ok();
  case InferParameter::kDoubleParam:
    target[name] = value.double_param();
    return Status::ok();
  case InferParameter::kUint64Param:
  case InferParameter::PARAMETER_CHOICE_NOT_SET:
    break;
  }
  return wrongType(name, "int64_param, bool_param, or string_param");
}

Status readParameter(const std::string& name, const InferParameter& value,
                     ReadRequest& target) {
  InferRequest& request = target.request;
  if (name == "sequence_id")
    return readSequenceId(name, value, request.sequence);
  if (name == "sequence_start")
    return readFlag(name, value, request.isSequenceStart);
  if (name == "sequence_end")
    return readFlag(name, value, request.isSequenceEnd);
  if (name == "priority")
    return readPriority(name, value, request.priority);
  if (name == "timeout")
    return readTimeout(name, value, request.timeoutMicroseconds);
  if (name == emptyFinal)
    return readFlag(name, value, target.wantsEmptyFinal);
  if (name.starts_with("triton_"))
    return invalidParameter(
        "parameter keys starting with 'triton_' are reserved for Triton usage. "
        "Only the following keys starting with 'triton_' are allowed: " +
        std::string(emptyFinal));
  return readOther(name, value, request.parameters);
}

} // namespace

Status readParameters(const inference::ModelInferRequest& message,
                      ReadRequest& target) {
  for (const auto& [name, value] : message.parameters())
    RECIPERUN_TRY(readParameter(name, value, target));
  return Status::ok();
}

Expected<RequestedOutput> readOutput(
    const inference::ModelInferRequest::InferRequestedOutputTensor& message) {
  RECIPERUN_TRY(refuseSharedMemory(message.name(), message.parameters()));
  RequestedOutput output = {.name = message.name()};
  const auto found = message.parameters().find("classification");
  if (found == message.parameters().end())
    return output;
  const InferParameter& value = found->second;
  if (!value.has_int64_param())
    return invalidParameter("invalid value type for 'classification' "
                            "parameter, expected int64_param");
  if (value.int64_param() <= 0)
    return invalidParameter("invalid value for 'classification' parameter, "
                            "expected >= 0");
  output.classes = value.int64_param();
  return output;
}

Status refuseSharedMemory(
    const std::string& tensor,
    const google::protobuf::Map<std::string, InferParameter>& parameters) {
  const auto region = parameters.find("shared_memory_region");
  if (region != parameters.end()) {
    if (!region->second.has_string_param())
      return invalidParameter("invalid value type for 'shared_memory_region' "
                              "parameter for tensor '" +
                              tensor + "', expected string_param.");
    return Status::error("Unable to find shared memory region: '" +
                             region->second.string_param() + "'",
                         StatusCode::notFound);
  }
  for (const char* name : {"shared_memory_offset", "shared_memory_byte_size"})
    if (parameters.contains(name))
      return invalidParameter(std::string("'") + name +
                              "' can not be specified without "
                              "'shared_memory_region' parameter for tensor '" +
                              tensor + "'");
  return Status::ok();
}

} // namespace reciperun::server
