// A reader visits nested arrays recursively, at most mostJsonDepth deep, and
// appends each scalar to the tensor's bytes. One instance of it exists for each
// data type, so that the type is not looked at for each element.

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

/// Reads a scalar as an element of C++ type T. False where it has another type
/// or does not fit.
template <class T> bool takeElement(const JsonValue& value, T& element) {
  if constexpr (std::is_same_v<T, bool>) {
    element = value.IsTrue();
    return value.IsBool();
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!value.IsNumber())
      return false;
    element = static_cast<T>(value.GetDouble());
    return true;
  } else if constexpr (std::is_signed_v<T>) {
    const int64_t read = value.IsInt64() ? value.GetInt64() : 0;
    element = static_cast<T>(read);
    return value.IsInt64() && element == read;
  } else {
    const uint64_t read = value.IsUint64() ? value.GetUint64() : 0;
    element = static_cast<T>(read);
    return value.IsUint64() && element == read;
  }
}

/// Why takeElement has failed.
template <class T> Status whyNotTaken(const JsonValue& value) {
  Status wrongType;
  if constexpr (std::is_same_v<T, bool>)
    wrongType = boolOf(value).status();
  else if constexpr (std::is_floating_point_v<T>)
    wrongType = doubleOf(value).status();
  else if constexpr (std::is_signed_v<T>)
    wrongType = signedOf(value).status();
  else
    wrongType = unsignedOf(value).status();
  RECIPERUN_TRY(wrongType);
  const std::string number = value.IsUint64()
                                 ? std::to_string(value.GetUint64())
                                 : std::to_string(value.GetInt64());
  return Status::error(number + " is outside the range of the datatype",
                       StatusCode::invalidArgument);
}

template <class T> class ElementReader {
public:
  ElementReader(int64_t elements, std::string& bytes)
      : elements(elements), bytes(bytes) {}

  Status read(const JsonValue& value, int depth = 0) {
    if (depth >= mostJsonDepth)
      return tooDeep();
    if (!value.IsArray())
      return add(value);
    for (const JsonValue& each : value.GetArray())
      RECIPERUN_TRY(read(each, depth + 1));
    return Status::ok();
  }
  int64_t count() const { return int64_t(bytes.size() / sizeof(T)); }

private:
  Status add(const JsonValue& value) {
    if (count() >= elements)
      return Status::error("Shape does not match true shape of 'data' field");
    T element;
    if (!takeElement(value, element))
      return whyNotTaken<T>(value);
    appendElement(bytes, element);
    return Status::ok();
  }

  int64_t elements;
  std::string& bytes;
};

template <class T>
Expected<std::string> readElementsAs(const JsonValue& data, int64_t elements) {
  std::string bytes;
  if (data.IsArray()) // of a flat array, these are all
    bytes.reserve(size_t(std::min<int64_t>(elements, data.Size())) * sizeof(T));
  ElementReader<T> reader(elements, bytes);
  RECIPERUN_TRY(unableToParse("data", reader.read(data)));
  if (reader.count() != elements)
    return Status::error(
        "Failed to parse 'data' field: shape does not match true shape");
  return bytes;
}

Status addStringBytes(const JsonValue& value, size_t& bytes, int depth = 0) {
  if (depth >= mostJsonDepth)
    return tooDeep();
  if (value.IsArray()) {
    for (const JsonValue& each : value.GetArray())
      RECIPERUN_TRY(addStringBytes(each, bytes, depth + 1));
    return Status::ok();
  }
  const auto text = stringOf(value);
  RECIPERUN_TRY(text.status().withContext("Unable to parse JSON bytes array"));
  bytes += sizeof(uint32_t) + text->size();
  return Status::ok();
}

/// Of a value that addStringBytes has checked.
void appendStrings(const JsonValue& value, std::string& bytes) {
  if (!value.IsArray())
    return appendBytes(bytes, {value.GetString(), value.GetStringLength()});
  for (const JsonValue& each : value.GetArray())
    appendStrings(each, bytes);
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

Expected<size_t> bytesOfStrings(const JsonValue& data) {
  size_t bytes = 0;
  RECIPERUN_TRY(addStringBytes(data, bytes));
  return bytes;
}

Expected<std::string> readElements(const std::string& input,
                                   const JsonValue& data, DataType type,
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
  std::string bytes;
  bytes.reserve(*size);
  appendStrings(data, bytes);
  return bytes;
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
