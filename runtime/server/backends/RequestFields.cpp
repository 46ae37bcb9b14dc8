// See RequestFields.h.

#include "runtime/server/backends/RequestFields.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace reciperun::server {
namespace {

template <class T, class Out>
std::vector<Out> convert(const std::string& data) {
  std::vector<Out> made(data.size() / sizeof(T));
  for (size_t i = 0; i < made.size(); ++i) {
    T value;
    std::memcpy(&value, data.data() + i * sizeof(T), sizeof(T));
    made[i] = Out(value);
  }
  return made;
}

Status wrongType(const Tensor& tensor, const char* wanted) {
  return Status::error("input '" + tensor.name + "' is " + nameOf(tensor.type) +
                           ", but must be " + wanted,
                       StatusCode::invalidArgument);
}

} // namespace

Expected<std::vector<int64_t>> integersOf(const Tensor& tensor) {
  switch (tensor.type) {
  case DataType::boolean:
  case DataType::uint8:
    return convert<uint8_t, int64_t>(tensor.data);
  case DataType::uint16:
    return convert<uint16_t, int64_t>(tensor.data);
  case DataType::uint32:
    return convert<uint32_t, int64_t>(tensor.data);
  case DataType::uint64:
    return convert<uint64_t, int64_t>(tensor.data);
  case DataType::int8:
    return convert<int8_t, int64_t>(tensor.data);
  case DataType::int16:
    return convert<int16_t, int64_t>(tensor.data);
  case DataType::int32:
    return convert<int32_t, int64_t>(tensor.data);
  case DataType::int64:
    return convert<int64_t, int64_t>(tensor.data);
  default:
    return wrongType(tensor, "of integers");
  }
}

Expected<std::vector<double>> numbersOf(const Tensor& tensor) {
  if (tensor.type == DataType::fp32)
    return convert<float, double>(tensor.data);
  if (tensor.type == DataType::fp64)
    return convert<double, double>(tensor.data);
  const auto integers = integersOf(tensor);
  if (!integers)
    return wrongType(tensor, "of numbers, as FP32 or integers");
  return std::vector<double>(integers->begin(), integers->end());
}

const Tensor* RequestFields::input(const std::string& name) {
  read.insert(name);
  return findInput(request, name);
}

const Parameter* RequestFields::parameter(const std::string& name) {
  const auto found = request.parameters.find(name);
  return found == request.parameters.end() ? nullptr : &found->second;
}

/// An input with one element.
const Tensor* RequestFields::scalar(const std::string& name) {
  const Tensor* const tensor = input(name);
  if (!tensor || elementsOf(tensor->shape) == 0)
    return nullptr;
  if (elementsOf(tensor->shape) == 1)
    return tensor;
  refuse(name, "one value");
  return nullptr;
}

void RequestFields::refuse(const std::string& name, const std::string& wanted) {
  if (failure.isOk())
    failure = Status::error("`" + name + "` must be " + wanted,
                            StatusCode::invalidArgument);
}

std::optional<double> RequestFields::number(const std::string& name) {
  if (const Tensor* const tensor = scalar(name)) {
    const auto values = numbersOf(*tensor);
    if (values && !values->empty())
      return values->front();
    refuse(name, "a number");
  } else if (const Parameter* const given = parameter(name)) {
    if (const auto* const real = std::get_if<double>(given))
      return *real;
    if (const auto* const whole = std::get_if<int64_t>(given))
      return double(*whole);
    if (const auto* const whole = std::get_if<uint64_t>(given))
      return double(*whole);
    refuse(name, "a number");
  }
  return std::nullopt;
}

std::optional<int64_t> RequestFields::integer(const std::string& name) {
  if (const Tensor* const tensor = scalar(name)) {
    const auto values = integersOf(*tensor);
    if (values && !values->empty())
      return values->front();
    refuse(name, "an integer");
  } else if (const Parameter* const given = parameter(name)) {
    if (const auto* const whole = std::get_if<int64_t>(given))
      return *whole;
    if (const auto* const whole = std::get_if<uint64_t>(given))
      return int64_t(*whole);
    refuse(name, "an integer");
  }
  return std::nullopt;
}

std::optional<bool> RequestFields::flag(const std::string& name) {
  if (const Tensor* const tensor = scalar(name)) {
    const auto values = integersOf(*tensor);
    if (values && !values->empty())
      return values->front() != 0;
    refuse(name, "a BOOL");
  } else if (const Parameter* const given = parameter(name)) {
    if (const auto* const value = std::get_if<bool>(given))
      return *value;
    refuse(name, "a boolean");
  }
  return std::nullopt;
}

std::optional<std::string> RequestFields::text(const std::string& name) {
  if (scalar(name)) {
    std::vector<std::string> all = texts(name);
    if (!all.empty())
      return std::move(all.front());
  } else if (const Parameter* const given = parameter(name)) {
    if (const auto* const value = std::get_if<std::string>(given))
      return *value;
    refuse(name, "a text");
  }
  return std::nullopt;
}

std::vector<int64_t> RequestFields::integers(const std::string& name) {
  const Tensor* const tensor = input(name);
  if (!tensor)
    return {};
  auto values = integersOf(*tensor);
  if (values)
    return *std::move(values);
  refuse(name, "integers");
  return {};
}

std::vector<double> RequestFields::numbers(const std::string& name) {
  const Tensor* const tensor = input(name);
  if (!tensor)
    return {};
  auto values = numbersOf(*tensor);
  if (values)
    return *std::move(values);
  refuse(name, "numbers");
  return {};
}

std::vector<std::string> RequestFields::texts(const std::string& name) {
  const Tensor* const tensor = input(name);
  if (!tensor)
    return {};
  if (tensor->type != DataType::bytes) {
    refuse(name, "of type BYTES");
    return {};
  }
  const auto elements = bytesElements(tensor->data);
  if (!elements) {
    refuse(name, "of type BYTES, with all of its data");
    return {};
  }
  return {elements->begin(), elements->end()};
}

Status RequestFields::checkAllRead() const {
  for (const Tensor& tensor : request.inputs)
    if (!read.contains(tensor.name) && elementsOf(tensor.shape) != 0)
      return Status::error("input '" + tensor.name +
                               "' is not supported by this server; leave it "
                               "out",
                           StatusCode::unsupported);
  return Status::ok();
}

} // namespace reciperun::server
