// One safetensors file, read and written.
//
// The format (huggingface/safetensors, README "Format"): 8 bytes little-endian
// N, N bytes of JSON {"name": {"dtype", "shape", "data_offsets": [begin, end]},
// ..., "__metadata__": {text: text}}, then the data. Offsets count from the
// data's first byte; tensors cover the data without holes or overlaps.

#ifndef RECIPERUN_CHECKPOINT_SAFETENSORS_H
#define RECIPERUN_CHECKPOINT_SAFETENSORS_H

#include "runtime/checkpoint/Files.h"
#include "runtime/plan/Status.h"

#include <cstdint>
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
};

/// "[2, 3]".
std::string shapeText(const std::vector<int64_t>& shape);

/// Bits of an element of a safetensors dtype; 0 for an unknown one.
int64_t dtypeBits(std::string_view dtype);

/// Reads a header's JSON and checks every size and offset against `dataBytes`,
/// the bytes behind the header; `dataStart` is added to the offsets. The
/// tensors come ordered by name. Refuses unknown dtypes, repeated names,
/// overlaps, holes, sizes that differ from shape times dtype, and offsets
/// beyond the data.
Expected<std::vector<StoredTensor>>
parseSafetensorsHeader(std::string_view json, int64_t dataStart,
                       int64_t dataBytes);

/// A file that is open for reading. Data is read in pieces, never mapped.
class SafetensorsFile {
public:
  /// Reads and checks the header. Errors name the file.
  static Expected<SafetensorsFile> open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file.path(); }
  /// Ordered by name.
  const std::vector<StoredTensor>& tensors() const { return list; }
  const StoredTensor* find(std::string_view name) const;
  /// Fills `out` from byte `offset` of the tensor's data.
  Status read(const StoredTensor& tensor, int64_t offset,
              std::span<std::byte> out) const;
  /// Fills `out` from byte `offset` of the file.
  Status readBytes(int64_t offset, std::span<std::byte> out) const {
    return file.read(offset, out);
  }

private:
  explicit SafetensorsFile(InputFile file) : file(std::move(file)) {}

  InputFile file;
  std::vector<StoredTensor> list;
};

/// A tensor that is going to be written.
struct TensorSpec {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;

  int64_t bytes() const;
};

/// The size of the file that a writer makes of the specs.
int64_t safetensorsBytes(const std::vector<TensorSpec>& specs);

/// Writes one file: the header at once, then the tensors' data in the order of
/// the specs, streamed. The same specs and data give the same bytes.
class SafetensorsWriter {
public:
  static Expected<SafetensorsWriter>
  create(const std::filesystem::path& path,
         const std::vector<TensorSpec>& specs);
  /// The next bytes of the data.
  Status append(std::span<const std::byte> data);
  /// Asserts that all data has come, brings it to the disk, sets the name.
  Status finish();

private:
  SafetensorsWriter(OutputFile file, int64_t expected)
      : file(std::move(file)), remaining(expected) {}

  OutputFile file;
  int64_t remaining;
};

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_SAFETENSORS_H
