// A file of token ids in one of the common formats:
//
//   Megatron   `NAME.bin` with a `NAME.idx` next to it: the index starts with
//              `MMIDIDX\0\0`, u64 version 1, u8 type (4 int32, 8 uint16), u64
//              sequences, u64 documents, then an i32 length of each sequence.
//              (megatron/core/datasets/indexed_dataset.py)
//   NumPy      `NAME.npy`, versions 1 to 3, of one dimension, `<u2 <u4 <i4`.
//   llm.c      256 i32: 20240520, version 1, tokens; then uint16. Or 20240801,
//              version 7, tokens; then uint32. (dev/data/data_common.py)
//   raw        only ids, uint16 or uint32, as nanoGPT writes them.
//
// All numbers are little-endian.

#ifndef RECIPERUN_DATA_TOKENFILE_H
#define RECIPERUN_DATA_TOKENFILE_H

#include "runtime/base/InputFile.h"

#include <string>
#include <vector>

namespace reciperun::data {

class TokenFile {
public:
  /// `type` is the type of the ids, `uint16` or `uint32`, or empty to take it
  /// from the file or its index. A file without a type has the narrower one
  /// that holds ids below `vocab`. Fails when the file's size contradicts its
  /// contents, and when its type differs from `type`.
  static Expected<TokenFile> open(const std::string& path,
                                  const std::string& type, int64_t vocab);

  const std::string& path() const { return file.path().native(); }
  int64_t tokens() const { return count; }
  /// Reads ids from index `first` on. Fails for an id that is not below
  /// `vocab`, with its index.
  Status read(int64_t first, std::span<int32_t> ids) const;
  /// Checks that the first `most` ids are below `vocab`.
  Status checkHead(int64_t most) const;
  /// The bytes per id with which the file is read.
  int64_t bytesOfId() const { return width; }
  /// For a file without a header: the bytes per id that its zeros suggest. If
  /// wider ids are read as narrower ones, such as `int64` as `uint16`, all but
  /// every second or fourth value are 0.
  int64_t bytesByZeros() const;
  /// Help on reading ids of `bytes` bytes.
  std::string helpWithBytes(int64_t bytes) const;

private:
  TokenFile(InputFile file, int64_t vocab)
      : file(std::move(file)), vocab(vocab) {}
  Status readLayout(const std::string& type);
  Status readIndex(const std::string& path);
  Status readNumpy();
  Status readHeader();
  Status checkRaw() const;
  Status checkType(const std::string& wanted) const;
  Status checkSize() const;
  std::vector<std::byte> readHead(int64_t bytes) const;
  double shareBelow(int64_t bytes) const;
  std::string helpWithLargeId() const;

  InputFile file;
  int64_t vocab;
  std::string format; // as in messages; empty for raw ids
  int64_t width = 0;  // bytes of an id
  int64_t start = 0;  // offset of the first id
  int64_t count = 0;
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_TOKENFILE_H
