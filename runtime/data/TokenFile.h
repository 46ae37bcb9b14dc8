// A file of token ids, as the programs of the field write them:
//
//   Megatron   `NAME.bin` with a `NAME.idx` beside it: the index starts with
//              `MMIDIDX\0\0`, u64 version 1, u8 type (4 int32, 8 uint16), u64
//              sequences, u64 documents, then an i32 length of each sequence.
//              (megatron/core/datasets/indexed_dataset.py)
//   NumPy      `NAME.npy`, versions 1 to 3, of one dimension, `<u2 <u4 <i4`.
//   llm.c      256 i32: 20240520, version 1, tokens; then uint16. Or 20240801,
//              version 7, tokens; then uint32. (dev/data/data_common.py)
//   raw        nothing but ids, uint16 or uint32, as nanoGPT writes them.
//
// All numbers are little-endian.

#ifndef RECIPERUN_DATA_TOKENFILE_H
#define RECIPERUN_DATA_TOKENFILE_H

#include "runtime/base/InputFile.h"

namespace reciperun::data {

class TokenFile {
public:
  /// `type` is that of the ids, `uint16` or `uint32`; empty for what the file
  /// or its index says, and where it says nothing the narrower of the two that
  /// holds ids below `vocab`. Fails where the file's size is not what its
  /// contents say, and where it says another type.
  static Expected<TokenFile> open(const std::string& path,
                                  const std::string& type, int64_t vocab);

  const std::string& path() const { return file.path().native(); }
  int64_t tokens() const { return count; }
  /// Reads ids from number `first` on. Fails for one that is not below `vocab`,
  /// with its place.
  Status read(int64_t first, std::span<int32_t> ids) const;
  /// Whether at most `most` ids at the beginning are below `vocab`.
  Status checkHead(int64_t most) const;

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

  InputFile file;
  int64_t vocab;
  std::string format; // as messages call it; empty for raw ids
  int64_t width = 0;  // bytes of an id
  int64_t start = 0;  // of the first one
  int64_t count = 0;
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_TOKENFILE_H
