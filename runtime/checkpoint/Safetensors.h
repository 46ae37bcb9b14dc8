// One safetensors file, read and written.
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
  std::vector<uint64_t> checksums; // of its chunks; empty where none are kept
};

/// Texts of a header's `__metadata__`, by name.
using Metadata = std::map<std::string, std::string>;

struct SafetensorsHeader {
  std::vector<StoredTensor> tensors; // ordered by name
  Metadata metadata;                 // without checksums
};

/// "[2, 3]".
std::string shapeText(const std::vector<int64_t>& shape);

/// Bits of an element of a safetensors dtype; 0 for an unknown one.
int64_t dtypeBits(std::string_view dtype);

/// Reads a header's JSON and checks every size and offset against `dataBytes`,
/// the bytes behind the header; `dataStart` is added to the offsets. Refuses
/// unknown dtypes, repeated names, overlaps, holes, sizes that differ from
/// shape times dtype, offsets beyond the data, and lists of checksums that are
/// none.
Expected<SafetensorsHeader> parseSafetensorsHeader(std::string_view json,
                                                   int64_t dataStart,
                                                   int64_t dataBytes);

/// A file that is open for reading. Data is read in pieces, never mapped.
class SafetensorsFile {
public:
  /// Reads and checks the header. Errors name the file.
  static Expected<SafetensorsFile> open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file.path(); }
  /// Ordered by name.
  const std::vector<StoredTensor>& tensors() const { return header.tensors; }
  const Metadata& metadata() const { return header.metadata; }
  /// Of all bytes before the data.
  const Hash& headerHash() const { return hash; }
  const StoredTensor* find(std::string_view name) const;
  /// Fills `out` from byte `offset` of the tensor's data.
  Status read(const StoredTensor& tensor, int64_t offset,
              std::span<std::byte> out) const;
  /// Compares whole chunks of the tensor's data, from byte `offset` of it on,
  /// with their checksums, where the file has any.
  Status check(const StoredTensor& tensor, int64_t offset,
               std::span<const std::byte> chunks) const;
  /// Fills `out` from byte `offset` of the file.
  Status readBytes(int64_t offset, std::span<std::byte> out) const {
    return file.read(offset, out);
  }

private:
  explicit SafetensorsFile(InputFile file) : file(std::move(file)) {}

  InputFile file;
  SafetensorsHeader header;
  Hash hash;
};

/// A tensor that is going to be written.
struct TensorSpec {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;

  int64_t bytes() const;
};

/// Whether a file can hold the tensors: each has a name of its own, other than
/// the format's `__metadata__`.
Status checkSpecs(const std::vector<TensorSpec>& specs);

/// What a header says of its tensors beside what they are.
struct HeaderNotes {
  Metadata metadata = {};
  bool hasChecksums = false; // of the tensors' chunks
};

/// The size of the file that a writer makes of the specs.
int64_t safetensorsBytes(const std::vector<TensorSpec>& specs,
                         const HeaderNotes& notes = {});

/// Writes one file: the header at once, then the tensors' data in the order of
/// the specs, streamed. The same specs and data give the same bytes. Checksums
/// are taken of the data on their way, and written into the header in the end.
class SafetensorsWriter {
public:
  static Expected<SafetensorsWriter> create(const std::filesystem::path& path,
                                            std::vector<TensorSpec> specs,
                                            HeaderNotes notes = {});
  /// The next bytes of the data.
  Status append(std::span<const std::byte> data);
  /// Brings the file to the disk and sets its name. Fails, as `append` does,
  /// where the data are not as long as the specs say: these may come from a
  /// damaged plan or manifest.
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
  // Of the tensor whose data comes next.
  size_t current = 0;
  int64_t missing = 0;
  ChecksumStream stream;
};

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_SAFETENSORS_H
