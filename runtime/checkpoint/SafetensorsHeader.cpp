// Parses the header of a safetensors file: 1. parse the JSON; 2. check each
// tensor separately; 3. check that they tile the data. The file may be damaged
// or hostile, so no number is trusted.

#include "runtime/checkpoint/Safetensors.h"

#include "runtime/base/ParseJson.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

namespace reciperun::checkpoint {
namespace {

using Json = nlohmann::json;

struct DtypeSize {
  const char* name;
  int64_t bits;
};
constexpr DtypeSize dtypeSizes[] = {
    {"BOOL", 8}, {"U8", 8},   {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8},
    {"I16", 16}, {"U16", 16}, {"F16", 16}, {"BF16", 16},   {"I32", 32},
    {"U32", 32}, {"F32", 32}, {"F64", 64}, {"I64", 64},    {"U64", 64},
};

Expected<Json> parseObject(std::string_view text) {
  Expected<Json> json = parseJson(text, {.noun = "header"});
  if (json && !json->is_object())
    return Status::error("the header is not a JSON object");
  return json;
}

/// A JSON number as a size: an integer from 0 to 2^63 - 1.
std::optional<int64_t> sizeOf(const Json& json) {
  if (!json.is_number_unsigned() || json.get<uint64_t>() > INT64_MAX)
    return std::nullopt;
  return json.get<int64_t>();
}

std::optional<std::vector<int64_t>> sizesOf(const Json& json) {
  if (!json.is_array())
    return std::nullopt;
  std::vector<int64_t> sizes;
  for (const Json& element : json) {
    std::optional<int64_t> size = sizeOf(element);
    if (!size)
      return std::nullopt;
    sizes.push_back(*size);
  }
  return sizes;
}

/// The bytes of a shape; nullopt when they exceed 2^63 - 1.
std::optional<int64_t> bytesOf(const std::vector<int64_t>& shape,
                               int64_t bits) {
  int64_t bytes = bits / 8;
  for (int64_t size : shape)
    if (__builtin_mul_overflow(bytes, size, &bytes))
      return std::nullopt;
  return bytes;
}

Expected<StoredTensor> parseTensor(const std::string& name, const Json& json) {
  if (!json.is_object() || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets"))
    return Status::error("an entry needs `dtype`, `shape` and `data_offsets`");
  if (!json["dtype"].is_string())
    return Status::error("`dtype` is not a text");
  StoredTensor tensor;
  tensor.name = name;
  tensor.dtype = json["dtype"].get<std::string>();
  if (dtypeBits(tensor.dtype) == 0)
    return Status::error("unknown dtype `" + tensor.dtype + "`");
  std::optional<std::vector<int64_t>> shape = sizesOf(json["shape"]);
  if (!shape)
    return Status::error("`shape` is not a list of sizes");
  tensor.shape = std::move(*shape);
  std::optional<std::vector<int64_t>> offsets = sizesOf(json["data_offsets"]);
  if (!offsets || offsets->size() != 2)
    return Status::error("`data_offsets` is not a pair of sizes");
  tensor.begin = (*offsets)[0];
  tensor.end = (*offsets)[1];
  return tensor;
}

/// The texts of `__metadata__`. Other programs may also store numbers and lists
/// there, which are ignored.
Metadata textsOf(const Json& json) {
  Metadata texts;
  if (json.is_object())
    for (const auto& [name, value] : json.items())
      if (value.is_string())
        texts[name] = value.get<std::string>();
  return texts;
}

/// Moves the tensors' checksums from the metadata to the tensors.
Status takeChecksums(SafetensorsHeader& header) {
  const auto bytes = header.metadata.find(std::string(checksumBytesName));
  if (bytes == header.metadata.end())
    return Status::ok();
  if (bytes->second != std::to_string(chunkBytes))
    return Status::error("its checksums are of `" + bytes->second +
                         "` bytes each, and this program reads those of " +
                         std::to_string(chunkBytes));
  header.metadata.erase(bytes);
  for (StoredTensor& tensor : header.tensors) {
    const auto text =
        header.metadata.find(std::string(checksumPrefix) + tensor.name);
    auto sums =
        text == header.metadata.end()
            ? std::nullopt
            : parseChecksums(text->second, chunksOf(tensor.end - tensor.begin));
    if (!sums)
      return Status::error("the header lacks the checksums of tensor `" +
                           tensor.name + "`");
    tensor.checksums = *std::move(sums);
    header.metadata.erase(text);
  }
  return Status::ok();
}

/// Checks that the tensor's extent matches its shape and is inside the data.
Status checkExtent(const StoredTensor& tensor, int64_t dataBytes) {
  std::string extent =
      std::to_string(tensor.begin) + " to " + std::to_string(tensor.end);
  if (tensor.begin > tensor.end)
    return Status::error("its data runs backwards, from byte " + extent);
  std::optional<int64_t> bytes = bytesOf(tensor.shape, dtypeBits(tensor.dtype));
  if (!bytes || tensor.end - tensor.begin != *bytes)
    return Status::error(
        "its data runs from byte " + extent + ", but shape " +
        shapeText(tensor.shape) + " of `" + tensor.dtype + "` takes " +
        (bytes ? std::to_string(*bytes) : "more than 2^63") + " bytes");
  if (tensor.end > dataBytes)
    return Status::error("the file is truncated: the tensor's data ends at "
                         "byte " +
                         std::to_string(tensor.end) +
                         " of the data, the file "
                         "has " +
                         std::to_string(dataBytes));
  return Status::ok();
}

/// Checks that the tensors cover the data without holes, overlaps or trailing
/// bytes.
Status checkTiling(std::vector<const StoredTensor*> tensors,
                   int64_t dataBytes) {
  std::sort(tensors.begin(), tensors.end(),
            [](const StoredTensor* a, const StoredTensor* b) {
              return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
            });
  int64_t covered = 0;
  const StoredTensor* before = nullptr;
  for (const StoredTensor* tensor : tensors) {
    if (tensor->begin < covered)
      return Status::error("tensors `" + before->name + "` and `" +
                           tensor->name + "` overlap at byte " +
                           std::to_string(tensor->begin) + " of the data");
    if (tensor->begin > covered)
      return Status::error("bytes " + std::to_string(covered) + " to " +
                           std::to_string(tensor->begin) +
                           " of the data belong to no tensor");
    covered = tensor->end;
    before = tensor;
  }
  if (covered != dataBytes)
    return Status::error("the tensors end at byte " + std::to_string(covered) +
                         " of the data, the file has " +
                         std::to_string(dataBytes));
  return Status::ok();
}

} // namespace

int64_t dtypeBits(std::string_view dtype) {
  for (const DtypeSize& known : dtypeSizes)
    if (dtype == known.name)
      return known.bits;
  return 0;
}

std::string shapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

int64_t TensorSpec::bytes() const {
  return bytesOf(shape, dtypeBits(dtype)).value_or(0);
}

Expected<SafetensorsHeader> parseSafetensorsHeader(std::string_view text,
                                                   int64_t dataStart,
                                                   int64_t dataBytes) {
  Expected<Json> json = parseObject(text);
  RECIPERUN_TRY(json);
  SafetensorsHeader header;
  std::vector<StoredTensor>& tensors = header.tensors;
  for (const auto& [name, entry] : json->items()) {
    if (name == "__metadata__") {
      header.metadata = textsOf(entry);
      continue;
    }
    Expected<StoredTensor> tensor = parseTensor(name, entry);
    RECIPERUN_TRY(tensor.status().withContext("tensor `" + name + "`"));
    RECIPERUN_TRY(
        checkExtent(*tensor, dataBytes).withContext("tensor `" + name + "`"));
    tensors.push_back(*std::move(tensor));
  }
  std::vector<const StoredTensor*> pointers;
  for (const StoredTensor& tensor : tensors)
    pointers.push_back(&tensor);
  RECIPERUN_TRY(checkTiling(std::move(pointers), dataBytes));
  for (StoredTensor& tensor : tensors) {
    tensor.begin += dataStart;
    tensor.end += dataStart;
  }
  std::sort(tensors.begin(), tensors.end(),
            [](const StoredTensor& a, const StoredTensor& b) {
              return a.name < b.name;
            });
  RECIPERUN_TRY(takeChecksums(header));
  return header;
}

} // namespace reciperun::checkpoint
