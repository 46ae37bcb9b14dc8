// See Tensor.h.

#include "runtime/server/models/Tensor.h"

#include <array>
#include <bit>
#include <cstring>
#include <limits>

namespace reciperun::server {
namespace {

static_assert(std::endian::native == std::endian::little,
              "tensors are kept as they are sent");

struct TypeRow {
  const char* name;
  size_t bytes;
};

/// In the order of DataType.
constexpr std::array<TypeRow, 14> typeRows = {{{"BOOL", 1},
                                               {"UINT8", 1},
                                               {"UINT16", 2},
                                               {"UINT32", 4},
                                               {"UINT64", 8},
                                               {"INT8", 1},
                                               {"INT16", 2},
                                               {"INT32", 4},
                                               {"INT64", 8},
                                               {"FP16", 2},
                                               {"BF16", 2},
                                               {"FP32", 4},
                                               {"FP64", 8},
                                               {"BYTES", 0}}};

} // namespace

const char* nameOf(DataType type) {
  return typeRows[size_t(type)].name;
}

std::optional<DataType> dataTypeOf(std::string_view name) {
  for (size_t i = 0; i < typeRows.size(); ++i)
    if (name == typeRows[i].name)
      return DataType(i);
  return std::nullopt;
}

size_t bytesOf(DataType type) {
  return typeRows[size_t(type)].bytes;
}

std::optional<int64_t> elementsOf(std::span<const int64_t> shape) {
  int64_t elements = 1;
  for (const int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(elements, size, &elements))
      return std::nullopt;
  return elements;
}

std::string textOf(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i > 0 ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

void appendBytes(std::string& data, std::string_view element) {
  const auto size = uint32_t(element.size());
  data.append(reinterpret_cast<const char*>(&size), sizeof size);
  data.append(element);
}

Expected<std::vector<std::string_view>> bytesElements(std::string_view data) {
  std::vector<std::string_view> elements;
  while (!data.empty()) {
    uint32_t size = 0;
    if (data.size() < sizeof size)
      return Status::error("the data ends within the length of an element",
                           StatusCode::invalidArgument);
    std::memcpy(&size, data.data(), sizeof size);
    data.remove_prefix(sizeof size);
    if (data.size() < size)
      return Status::error("the data ends within an element",
                           StatusCode::invalidArgument);
    elements.push_back(data.substr(0, size));
    data.remove_prefix(size);
  }
  return elements;
}

} // namespace reciperun::server
