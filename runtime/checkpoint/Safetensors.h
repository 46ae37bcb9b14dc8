// Reads and writes one safetensors file.
//
// The format (huggingface/safetensors, README "Format"): 8 bytes little-endian
// N, N bytes of JSON {"name": {"dtype", "shape", "data_offsets": [begin, end]},
// ..., "__metadata__": {text: text}}, then the data. Offsets count from the
// data's first byte; tensors cover the data without holes or overlaps.

#ifndef RECIPERUN_CHECKPOINT_SAFETENSORS_H
#define RECIPERUN_CHECKPOINT_SAFETENSORS_H

#include "runtime/base/Hash.h"
#include "runtime/base/Status.h"
#include "runtime/checkpoint/Checksums.h"
#include "runtime/checkpoint/Files.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reciperun::checkpoint {

/// A tensor as a header describes it.
struct StoredTensor {
  std::string name;
  std::string dtype; // `BF16`
  std::vector<int64_t> shape;
  int64_t begin = 0; // bytes from the start of the file
  int64_t end = 0;
  std::vector<uint64_t> checksums; // of its chunks; may be absent
};

/// The texts of a header's `__metadata__`, by name.
using Metadata = std::map<std::string, std::string>;

struct SafetensorsHeader {
  std::vector<StoredTensor> tensors; // ordered by name
  Metadata metadata;                 // without checksums
};

/// Formats a shape: "[2, 3]".
std::string shapeText(const std::vector<int64_t>& shape);

/// The bits of an element of a safetensors dtype; 0 for an unknown one.
int64_t dtypeBits(std::string_view dtype);

/// Parses a header's JSON and checks every size and offset against `dataBytes`,
/// the number of bytes after the header; `dataStart` is added to the offsets.
/// Refuses unknown dtypes, repeated names, overlaps, holes, sizes that differ
/// from shape times dtype, offsets beyond the data, and malformed checksums.
Expected<SafetensorsHeader> parseSafetensorsHeader(std::string_view json,
                                                   int64_t dataStart,
                                                   int64_t dataBytes);

/// A file that is open for reading. Data is read in pieces, never mapped.
class SafetensorsFile {
public:
  /// Reads and checks the header. Errors name the file.
  static Expected<SafetensorsFile> open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file.path(); }
  /// Sorted by name.
  const std::vector<StoredTensor>& tensors() const { return header.tensors; }
  const Metadata& metadata() const { return header.metadata; }
  /// Of all bytes before the data.
  const Hash& headerHash() const { return hash; }
  const StoredTensor* find(std::string_view name) const;
  /// Fills `out` from byte `offset` of the tensor's data.
  Status read(const StoredTensor& tensor, int64_t offset,
              std::span<std::byte> out) const;
  /// Compares whole chunks of the tensor's data, from byte `offset` on, with
  /// their checksums, if the file has any.
  Status check(const StoredTensor& tensor, int64_t offset,
               std::span<const std::byte> chunks) const;
  /// Fills `out` from byte `offset` of the file.
  Status readBytes(int64_t offset, std::span<std::byte> out) const {
    return file.read(offset, out);
  }
  /// Fills ranges of the file; see InputFile.
  Status readRanges(std::span<const FileRange> ranges) const {
    return file.read(ranges);
  }
  bool isRemote() const { return file.isRemote(); }

private:
  explicit SafetensorsFile(InputFile file) : file(std::move(file)) {}

  InputFile file;
  SafetensorsHeader header;
  Hash hash;
};

/// The description of a tensor to write.
struct TensorSpec {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;

  int64_t bytes() const;
};

/// Checks that a file can have the tensors: names are unique and differ from
/// the format's `__metadata__`.
Status checkSpecs(const std::vector<TensorSpec>& specs);

/// The contents of a header in addition to its tensors.
struct HeaderNotes {
  Metadata metadata = {};
  bool hasChecksums = false; // of the tensors' chunks
};

/// The size of the file that a writer produces for the specs.
int64_t safetensorsBytes(const std::vector<TensorSpec>& specs,
                         const HeaderNotes& notes = {});

/// Writes one file: first the header, then the tensors' data in the order of
/// the specs, streamed. The same specs and data give the same bytes. Checksums
/// are computed while the data is written, and written into the header at the
/// end.
class SafetensorsWriter {
public:
  static Expected<SafetensorsWriter> create(const std::filesystem::path& path,
                                            std::vector<TensorSpec> specs,
                                            HeaderNotes notes = {});
  /// Appends the next bytes of the data.
  Status append(std::span<const std::byte> data);
  /// Flushes the file to the disk and renames it. Like `append` it fails when
  /// the data's length differs from the specs: these may come from a damaged
  /// plan or manifest.
  Status finish();

private:
  SafetensorsWriter(OutputFile file, std::vector<TensorSpec> specs,
                    HeaderNotes notes);
  void addChecksums(std::span<const std::byte> data);
  Status writeChecksums();
  Status wrongLength(const char* found) const;

  OutputFile file;
  std::vector<TensorSpec> specs;
  HeaderNotes notes;
  int64_t remaining = 0;
  // State of the current tensor.
  size_t current = 0;
  int64_t missing = 0;
  ChecksumStream stream;
};

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_SAFETENSORS_H
