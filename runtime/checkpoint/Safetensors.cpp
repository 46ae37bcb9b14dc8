// Reading and writing one safetensors file on top of its header.

#include "runtime/checkpoint/Safetensors.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace reciperun::checkpoint {
namespace {

constexpr int64_t lengthBytes = 8;
/// The limit of the format's own reader; no model comes near it.
constexpr int64_t maxHeaderBytes = 100'000'000;

/// The JSON of a header, padded with spaces, as the format allows, so that the
/// data starts where OutputFile can write it around the system's cache.
std::string headerText(const std::vector<TensorSpec>& specs) {
  nlohmann::ordered_json json;
  // Some readers refuse files that do not say which framework's layout they
  // have; `pt` is what transformers writes.
  json["__metadata__"] = {{"format", "pt"}};
  int64_t offset = 0;
  for (const TensorSpec& spec : specs) {
    assert(!json.contains(spec.name) && "tensor names are distinct");
    int64_t end = offset + spec.bytes();
    json[spec.name] = {{"dtype", spec.dtype},
                       {"shape", spec.shape},
                       {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = json.dump();
  constexpr size_t unit = OutputFile::unitBytes;
  text.append((unit - (lengthBytes + text.size()) % unit) % unit, ' ');
  return text;
}

} // namespace

// ---- SafetensorsFile
// ----------------------------------------------------------

Expected<SafetensorsFile>
SafetensorsFile::open(const std::filesystem::path& path) {
  Expected<InputFile> input = InputFile::open(path);
  RECIPERUN_TRY(input);
  SafetensorsFile file(*std::move(input));
  std::string place = "`" + path.string() + "`";
  int64_t size = file.file.size();
  if (size < lengthBytes)
    return Status::error(place +
                         " is truncated: a safetensors file has at "
                         "least 8 bytes, this one " +
                         std::to_string(size));
  uint64_t headerBytes = 0;
  RECIPERUN_TRY(
      file.file.read(0, std::as_writable_bytes(std::span(&headerBytes, 1))));
  if (headerBytes > uint64_t(maxHeaderBytes))
    return Status::error(place +
                         " is no safetensors file: its header would "
                         "have " +
                         std::to_string(headerBytes) + " bytes, more than " +
                         std::to_string(maxHeaderBytes));
  int64_t dataStart = lengthBytes + static_cast<int64_t>(headerBytes);
  if (dataStart > size)
    return Status::error(place + " is truncated: its header ends at byte " +
                         std::to_string(dataStart) + ", the file at byte " +
                         std::to_string(size));
  std::string header(headerBytes, '\0');
  RECIPERUN_TRY(
      file.file.read(lengthBytes, std::as_writable_bytes(std::span(header))));
  Expected<std::vector<StoredTensor>> tensors =
      parseSafetensorsHeader(header, dataStart, size - dataStart);
  RECIPERUN_TRY(tensors.status().withContext(place));
  file.list = *std::move(tensors);
  return file;
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  auto place = std::lower_bound(
      list.begin(), list.end(), name,
      [](const StoredTensor& a, std::string_view b) { return a.name < b; });
  return place != list.end() && place->name == name ? &*place : nullptr;
}

Status SafetensorsFile::read(const StoredTensor& tensor, int64_t offset,
                             std::span<std::byte> out) const {
  assert(offset >= 0 &&
         offset + int64_t(out.size()) <= tensor.end - tensor.begin &&
         "a read stays within its tensor");
  return file.read(tensor.begin + offset, out)
      .withContext("tensor `" + tensor.name + "`");
}

// ---- SafetensorsWriter
// --------------------------------------------------------

int64_t safetensorsBytes(const std::vector<TensorSpec>& specs) {
  int64_t bytes = lengthBytes + int64_t(headerText(specs).size());
  for (const TensorSpec& spec : specs)
    bytes += spec.bytes();
  return bytes;
}

Expected<SafetensorsWriter>
SafetensorsWriter::create(const std::filesystem::path& path,
                          const std::vector<TensorSpec>& specs) {
  Expected<OutputFile> file = OutputFile::create(path);
  RECIPERUN_TRY(file);
  std::string header = headerText(specs);
  uint64_t length = header.size();
  RECIPERUN_TRY(file->append(std::as_bytes(std::span(&length, 1))));
  RECIPERUN_TRY(file->append(std::as_bytes(std::span(header))));
  int64_t data = 0;
  for (const TensorSpec& spec : specs)
    data += spec.bytes();
  return SafetensorsWriter(*std::move(file), data);
}

Status SafetensorsWriter::append(std::span<const std::byte> data) {
  remaining -= static_cast<int64_t>(data.size());
  assert(remaining >= 0 && "more data than the header announced");
  return file.append(data);
}

Status SafetensorsWriter::finish() {
  assert(remaining == 0 && "less data than the header announced");
  return file.commit();
}

} // namespace reciperun::checkpoint
