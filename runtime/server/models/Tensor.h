// Tensors of requests and answers, as KServe's protocol names them.

#ifndef RECIPERUN_SERVER_MODELS_TENSOR_H
#define RECIPERUN_SERVER_MODELS_TENSOR_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::server {

enum class DataType {
  boolean,
  uint8,
  uint16,
  uint32,
  uint64,
  int8,
  int16,
  int32,
  int64,
  fp16,
  bf16,
  fp32,
  fp64,
  bytes
};

/// `BOOL`, `UINT8`, ..., `BF16`, `FP32`, `FP64`, `BYTES`.
const char* nameOf(DataType type);
std::optional<DataType> dataTypeOf(std::string_view name);
/// The bytes of an element; 0 for `bytes`, whose elements differ.
size_t bytesOf(DataType type);

/// Elements are little-endian and in row-major order; BOOL has a byte each. An
/// element of BYTES is its length as a little-endian uint32, then its bytes.
struct Tensor {
  std::string name;
  DataType type = DataType::bytes;
  std::vector<int64_t> shape;
  std::string data;
};

/// The product of the dimensions. Nothing where one is negative or the product
/// exceeds 2^63 - 1.
std::optional<int64_t> elementsOf(std::span<const int64_t> shape);

/// `[1,16]`, as the protocol's messages write shapes.
std::string textOf(std::span<const int64_t> shape);

/// Appends an element of BYTES to a tensor's data.
void appendBytes(std::string& data, std::string_view element);
/// The elements of BYTES. Fails where the data ends within one.
Expected<std::vector<std::string_view>> bytesElements(std::string_view data);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_MODELS_TENSOR_H
