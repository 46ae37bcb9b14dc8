// Reads and writes the data of one safetensors file.

#include "runtime/checkpoint/Safetensors.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_set>

namespace reciperun::checkpoint {
namespace {

constexpr const char* copiesAgain = "; copy or download it again";
constexpr int64_t lengthBytes = 8;
/// The limit of the format's reference reader; no model comes close to it.
constexpr int64_t maxHeaderBytes = 100'000'000;

constexpr const char* metadataName = "__metadata__";

std::string checksumName(const TensorSpec& spec) {
  return std::string(checksumPrefix) + spec.name;
}

std::string headerJson(const std::vector<TensorSpec>& specs,
                       const Metadata& metadata) {
  nlohmann::ordered_json json;
  // Some readers refuse files that do not name their framework; transformers
  // writes `pt`.
  json[metadataName] = {{"format", "pt"}};
  auto& texts = json[metadataName].get_ref<nlohmann::ordered_json::object_t&>();
  for (const auto& [name, text] : metadata)
    texts.emplace_back(name, text);
  int64_t offset = 0;
  for (const TensorSpec& spec : specs) {
    int64_t end = offset + spec.bytes();
    json[spec.name] = {{"dtype", spec.dtype},
                       {"shape", spec.shape},
                       {"data_offsets", {offset, end}}};
    offset = end;
  }
  return json.dump();
}

/// The size of a header of `bytes` bytes of JSON. It is padded with spaces, as
/// the format allows, so that OutputFile can write the data without the page
/// cache.
size_t paddedSize(size_t bytes) {
  constexpr size_t unit = OutputFile::unitBytes;
  return (lengthBytes + bytes + unit - 1) / unit * unit - lengthBytes;
}

std::string headerText(const std::vector<TensorSpec>& specs,
                       const Metadata& metadata) {
  std::string text = headerJson(specs, metadata);
  text.resize(paddedSize(text.size()), ' ');
  return text;
}

/// The number of characters of a tensor's checksums.
size_t checksumRoom(const TensorSpec& spec) {
  return size_t(16 * chunksOf(spec.bytes()));
}

/// The metadata with placeholders for the checksums of all tensors, which are
/// not known yet: of full length, or empty.
Metadata metadataOf(const std::vector<TensorSpec>& specs,
                    const HeaderNotes& notes, bool hasRoom) {
  Metadata metadata = notes.metadata;
  if (!notes.hasChecksums)
    return metadata;
  metadata[std::string(checksumBytesName)] = std::to_string(chunkBytes);
  for (const TensorSpec& spec : specs)
    metadata[checksumName(spec)] =
        std::string(hasRoom ? checksumRoom(spec) : 0, '0');
  return metadata;
}

} // namespace

// ---- SafetensorsFile

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
                         std::to_string(size) + copiesAgain);
  uint64_t headerBytes = 0;
  RECIPERUN_TRY(
      file.file.read(0, std::as_writable_bytes(std::span(&headerBytes, 1))));
  constexpr std::string_view pointer = "version "; // of Git LFS
  if (std::memcmp(&headerBytes, pointer.data(), lengthBytes) == 0)
    return Status::error(place +
                         " is a pointer of Git LFS, not the file itself; get "
                         "the file by `git lfs pull`");
  if (headerBytes > uint64_t(maxHeaderBytes))
    return Status::error(place +
                         " is no safetensors file: its header would "
                         "have " +
                         std::to_string(headerBytes) + " bytes, more than " +
                         std::to_string(maxHeaderBytes) + copiesAgain);
  int64_t dataStart = lengthBytes + static_cast<int64_t>(headerBytes);
  if (dataStart > size)
    return Status::error(place + " is truncated: its header ends at byte " +
                         std::to_string(dataStart) + ", the file at byte " +
                         std::to_string(size) + copiesAgain);
  std::string text(headerBytes, '\0');
  RECIPERUN_TRY(
      file.file.read(lengthBytes, std::as_writable_bytes(std::span(text))));
  Expected<SafetensorsHeader> header =
      parseSafetensorsHeader(text, dataStart, size - dataStart);
  if (!header)
    return Status::error(place + ": " + header.message() + copiesAgain);
  file.header = *std::move(header);
  Hasher hasher;
  hasher.add(std::as_bytes(std::span(&headerBytes, 1)));
  hasher.add(text);
  file.hash = hasher.hash();
  return file;
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  const std::vector<StoredTensor>& list = header.tensors;
  auto place = std::lower_bound(
      list.begin(), list.end(), name,
      [](const StoredTensor& a, std::string_view b) { return a.name < b; });
  return place != list.end() && place->name == name ? &*place : nullptr;
}

Status SafetensorsFile::read(const StoredTensor& tensor, int64_t offset,
                             std::span<std::byte> out) const {
  int64_t bytes = tensor.end - tensor.begin;
  if (offset < 0 || offset > bytes || int64_t(out.size()) > bytes - offset)
    return Status::error("`" + file.path().string() + "`: tensor `" +
                         tensor.name + "` has " + std::to_string(bytes) +
                         " bytes, and bytes " + std::to_string(offset) +
                         " to " + std::to_string(offset + int64_t(out.size())) +
                         " of it were asked for");
  return file.read(tensor.begin + offset, out)
      .withContext("tensor `" + tensor.name + "`");
}

Status SafetensorsFile::check(const StoredTensor& tensor, int64_t offset,
                              std::span<const std::byte> chunks) const {
  assert(offset % chunkBytes == 0 && "the first byte of a chunk");
  if (tensor.checksums.empty())
    return Status::ok();
  const std::optional<int64_t> damaged =
      findDamage(chunks, tensor.checksums, offset / chunkBytes);
  if (!damaged)
    return Status::ok();
  const int64_t begin = tensor.begin + *damaged * chunkBytes;
  return Status::error(
      "`" + path().string() + "` is damaged: bytes " + std::to_string(begin) +
      " to " + std::to_string(std::min(begin + chunkBytes, tensor.end)) +
      ", of tensor `" + tensor.name +
      "`, are not those that were written (checksum)");
}

// ---- SafetensorsWriter

Status checkSpecs(const std::vector<TensorSpec>& specs) {
  std::unordered_set<std::string_view> names;
  for (const TensorSpec& spec : specs) {
    if (spec.name == metadataName)
      return Status::error("a tensor is called `" + spec.name +
                           "`, which safetensors keeps for itself");
    if (!names.insert(spec.name).second)
      return Status::error("two tensors are called `" + spec.name + "`");
  }
  return Status::ok();
}

int64_t safetensorsBytes(const std::vector<TensorSpec>& specs,
                         const HeaderNotes& notes) {
  size_t header =
      headerJson(specs, metadataOf(specs, notes, /*hasRoom=*/false)).size();
  int64_t bytes = lengthBytes;
  for (const TensorSpec& spec : specs) {
    header += notes.hasChecksums ? checksumRoom(spec) : 0;
    bytes += spec.bytes();
  }
  return bytes + int64_t(paddedSize(header));
}

SafetensorsWriter::SafetensorsWriter(OutputFile file,
                                     std::vector<TensorSpec> specs,
                                     HeaderNotes notes)
    : file(std::move(file)), specs(std::move(specs)), notes(std::move(notes)) {
  for (const TensorSpec& spec : this->specs)
    remaining += spec.bytes();
  missing = this->specs.empty() ? 0 : this->specs.front().bytes();
}

Expected<SafetensorsWriter>
SafetensorsWriter::create(const std::filesystem::path& path,
                          std::vector<TensorSpec> specs, HeaderNotes notes) {
  RECIPERUN_TRY(checkSpecs(specs).withContext("`" + path.string() + "`"));
  OutputHints hints;
  hints.bytes = safetensorsBytes(specs, notes);
  notes.metadata = metadataOf(specs, notes, /*hasRoom=*/true);
  std::string header = headerText(specs, notes.metadata);
  uint64_t length = header.size();
  if (notes.hasChecksums)
    hints.rewritten = lengthBytes + int64_t(length);
  Expected<OutputFile> file = OutputFile::create(path, hints);
  RECIPERUN_TRY(file);
  RECIPERUN_TRY(file->append(std::as_bytes(std::span(&length, 1))));
  RECIPERUN_TRY(file->append(std::as_bytes(std::span(header))));
  return SafetensorsWriter(*std::move(file), std::move(specs),
                           std::move(notes));
}

Status SafetensorsWriter::append(std::span<const std::byte> data) {
  remaining -= static_cast<int64_t>(data.size());
  if (remaining < 0)
    return wrongLength("more");
  // Small pieces stay in the CPU cache between the checksums and the write.
  constexpr size_t piece = size_t(16) << 20;
  while (!data.empty()) {
    const auto next = data.first(std::min(data.size(), piece));
    if (notes.hasChecksums)
      addChecksums(next);
    RECIPERUN_TRY(file.append(next));
    data = data.subspan(next.size());
  }
  return Status::ok();
}

/// Data may span several tensors.
void SafetensorsWriter::addChecksums(std::span<const std::byte> data) {
  while (current < specs.size()) {
    const auto own = data.first(std::min(data.size(), size_t(missing)));
    stream.add(own);
    data = data.subspan(own.size());
    missing -= int64_t(own.size());
    if (missing > 0)
      return;
    notes.metadata[checksumName(specs[current])] =
        checksumText(stream.finish());
    missing = ++current < specs.size() ? specs[current].bytes() : 0;
  }
}

/// Overwrites the placeholders, which have the same size.
Status SafetensorsWriter::writeChecksums() {
  addChecksums({}); // tensors without elements
  const std::string header = headerText(specs, notes.metadata);
  return file.rewrite(lengthBytes, std::as_bytes(std::span(header)));
}

Status SafetensorsWriter::finish() {
  if (remaining != 0)
    return wrongLength("less");
  if (notes.hasChecksums)
    RECIPERUN_TRY(writeChecksums());
  return file.commit();
}

Status SafetensorsWriter::wrongLength(const char* found) const {
  return Status::error("`" + file.path().string() + "` is given " + found +
                       " data than its tensors have");
}

} // namespace reciperun::checkpoint
