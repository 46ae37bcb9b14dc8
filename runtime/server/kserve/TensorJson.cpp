// One function exists for each data type, so that the type is not looked at for
// each element.

#include "runtime/server/kserve/TensorJson.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace reciperun::server {
namespace {

Status tooDeep() {
  return Status::error("JSON nesting depth exceeds maximum allowed limit (" +
                           std::to_string(mostJsonDepth) + ")",
                       StatusCode::invalidArgument);
}

Status noJsonForm(const char* verb, DataType type, const std::string& target) {
  return Status::error(std::string(verb) + " " + nameOf(type) +
                           " data via JSON is not supported. Please use the "
                           "binary data format for " +
                           target,
                       StatusCode::invalidArgument);
}

template <class T> void appendElement(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// ---- reading

using Kind = JsonElements::Kind;

/// Reads an element as one of C++ type T. False where it has another type or
/// does not fit.
template <class T>
bool takeElement(const JsonElements& data, size_t i, T& element) {
  const Kind kind = data.kindAt(i);
  if (kind == Kind::text || kind == Kind::other)
    return false;
  if constexpr (std::is_same_v<T, bool>) {
    element = data.boolAt(i);
    return kind == Kind::boolean;
  } else if constexpr (std::is_floating_point_v<T>) {
    element = static_cast<T>(data.realAt(i));
    return kind != Kind::boolean;
  } else if constexpr (std::is_signed_v<T>) {
    element = static_cast<T>(data.integerAt(i));
    return kind == Kind::integer && element == data.integerAt(i);
  } else {
    element = static_cast<T>(data.unsignedAt(i));
    const bool isNegative = kind == Kind::integer && data.integerAt(i) < 0;
    return (kind == Kind::integer || kind == Kind::natural) && !isNegative &&
           element == data.unsignedAt(i);
  }
}

Status outOfRange(const std::string& number) {
  return Status::error(number + " is outside the range of the datatype",
                       StatusCode::invalidArgument);
}

/// The error for an element that takeElement rejected.
template <class T> Status whyNotTaken(const JsonElements& data, size_t i) {
  const Kind kind = data.kindAt(i);
  if constexpr (std::is_same_v<T, bool>)
    return wrongAccess("non-boolean", "boolean");
  if constexpr (std::is_floating_point_v<T>)
    return wrongAccess("non-number", "double");
  if (std::is_signed_v<T> && kind == Kind::integer)
    return outOfRange(std::to_string(data.integerAt(i)));
  if (std::is_signed_v<T>)
    return wrongAccess("non-signed-integer", "signed-integer");
  if (kind == Kind::natural ||
      (kind == Kind::integer && data.integerAt(i) >= 0))
    return outOfRange(std::to_string(data.unsignedAt(i)));
  return wrongAccess("non-unsigned-integer", "unsigned-integer");
}

template <class T>
Status takeElements(const JsonElements& data, size_t elements,
                    std::string& bytes) {
  for (size_t i = 0; i < data.size(); ++i) {
    if (i == data.tooDeepAt())
      return tooDeep();
    if (i == elements)
      return Status::error("Shape does not match true shape of 'data' field");
    T element;
    if (!takeElement(data, i, element))
      return whyNotTaken<T>(data, i);
    appendElement(bytes, element);
  }
  return data.tooDeepAt() == data.size() ? tooDeep() : Status::ok();
}

template <class T>
Expected<std::string> readElementsAs(const JsonElements& data,
                                     int64_t elements) {
  std::string bytes;
  bytes.reserve(std::min(size_t(elements), data.size()) * sizeof(T));
  RECIPERUN_TRY(
      unableToParse("data", takeElements<T>(data, size_t(elements), bytes)));
  if (data.size() != size_t(elements))
    return Status::error(
        "Failed to parse 'data' field: shape does not match true shape");
  return bytes;
}

// ---- writing

Status wrongSize(const Tensor& output) {
  return Status::error("Failed to write 'data' field: output tensor shape does "
                       "not match size of output for '" +
                       output.name + "'");
}

void writeElement(JsonWriter& writer, bool value) {
  writer.Bool(value);
}
template <class T> void writeElement(JsonWriter& writer, T value) {
  if constexpr (std::is_floating_point_v<T>)
    writer.Double(double(value));
  else if constexpr (std::is_signed_v<T>)
    writer.Int64(value);
  else
    writer.Uint64(value);
}

/// BOOL is read as uint8_t, since a byte other than 0 and 1 is no bool.
template <class T>
Status writeElementsAs(JsonWriter& writer, const Tensor& output) {
  using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
  for (size_t at = 0; at < output.data.size(); at += sizeof(Stored)) {
    Stored value;
    std::memcpy(&value, output.data.data() + at, sizeof value);
    writeElement(writer, static_cast<T>(value));
  }
  return Status::ok();
}

Status writeStrings(JsonWriter& writer, const Tensor& output) {
  const auto elements = bytesElements(output.data);
  if (!elements)
    return wrongSize(output);
  for (const std::string_view each : *elements)
    writeString(writer, each);
  return Status::ok();
}

Status writeAll(JsonWriter& writer, const Tensor& output) {
  switch (output.type) {
  case DataType::boolean:
    return writeElementsAs<bool>(writer, output);
  case DataType::uint8:
    return writeElementsAs<uint8_t>(writer, output);
  case DataType::uint16:
    return writeElementsAs<uint16_t>(writer, output);
  case DataType::uint32:
    return writeElementsAs<uint32_t>(writer, output);
  case DataType::uint64:
    return writeElementsAs<uint64_t>(writer, output);
  case DataType::int8:
    return writeElementsAs<int8_t>(writer, output);
  case DataType::int16:
    return writeElementsAs<int16_t>(writer, output);
  case DataType::int32:
    return writeElementsAs<int32_t>(writer, output);
  case DataType::int64:
    return writeElementsAs<int64_t>(writer, output);
  case DataType::fp32:
    return writeElementsAs<float>(writer, output);
  case DataType::fp64:
    return writeElementsAs<double>(writer, output);
  case DataType::bytes:
    return writeStrings(writer, output);
  case DataType::fp16:
  case DataType::bf16:
    return noJsonForm("sending", output.type, "output");
  }
  return Status::ok();
}

/// Whether the data has the elements of the shape.
bool isWhole(const Tensor& output) {
  const auto elements = elementsOf(output.shape);
  if (!elements)
    return false;
  if (output.type != DataType::bytes)
    return uint64_t(*elements) == output.data.size() / bytesOf(output.type) &&
           output.data.size() % bytesOf(output.type) == 0;
  const auto strings = bytesElements(output.data);
  return strings && strings->size() == size_t(*elements);
}

} // namespace

Expected<size_t> bytesOfStrings(const JsonElements& data) {
  const size_t other = data.firstOtherThanText();
  if (data.tooDeepAt() != JsonElements::none && data.tooDeepAt() <= other)
    return tooDeep();
  if (other != JsonElements::none)
    return wrongAccess("non-string", "string")
        .withContext("Unable to parse JSON bytes array");
  return data.texts().size();
}

Expected<std::string> readElements(const std::string& input,
                                   const JsonElements& data, DataType type,
                                   int64_t elements) {
  switch (type) {
  case DataType::boolean:
    return readElementsAs<bool>(data, elements);
  case DataType::uint8:
    return readElementsAs<uint8_t>(data, elements);
  case DataType::uint16:
    return readElementsAs<uint16_t>(data, elements);
  case DataType::uint32:
    return readElementsAs<uint32_t>(data, elements);
  case DataType::uint64:
    return readElementsAs<uint64_t>(data, elements);
  case DataType::int8:
    return readElementsAs<int8_t>(data, elements);
  case DataType::int16:
    return readElementsAs<int16_t>(data, elements);
  case DataType::int32:
    return readElementsAs<int32_t>(data, elements);
  case DataType::int64:
    return readElementsAs<int64_t>(data, elements);
  case DataType::fp32:
    return readElementsAs<float>(data, elements);
  case DataType::fp64:
    return readElementsAs<double>(data, elements);
  case DataType::fp16:
  case DataType::bf16:
    return noJsonForm("receiving", type, "input " + input);
  case DataType::bytes:
    break;
  }
  const auto size = bytesOfStrings(data);
  RECIPERUN_TRY(size);
  return data.texts();
}

Status writeElements(JsonWriter& writer, const Tensor& output) {
  if (!isWhole(output))
    return wrongSize(output);
  writer.StartArray();
  RECIPERUN_TRY(writeAll(writer, output));
  writer.EndArray();
  return Status::ok();
}

Status writeElementsOrScalar(JsonWriter& writer, const Tensor& output) {
  if (elementsOf(output.shape) != 1)
    return writeElements(writer, output);
  return isWhole(output) ? writeAll(writer, output) : wrongSize(output);
}

} // namespace reciperun::server
