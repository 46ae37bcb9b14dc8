// Checksums of a tensor's bytes, chunk by chunk: whoever reads a run of a
// tensor's elements reads the chunks that hold them, and can tell whether they
// are what was written.
//
// A chunk is small beside what is read at once, so that a run costs little more
// than itself, and large beside its 16 digits in the header.

#ifndef RECIPERUN_CHECKPOINT_CHECKSUMS_H
#define RECIPERUN_CHECKPOINT_CHECKSUMS_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::checkpoint {

/// Of a tensor's data; its last chunk may be shorter.
inline constexpr int64_t chunkBytes = int64_t(128) << 10;

/// What a header's `__metadata__` has: the bytes of a chunk, and the checksums
/// of a tensor's chunks under its name behind the prefix.
inline constexpr std::string_view checksumBytesName = "checksum_bytes";
inline constexpr std::string_view checksumPrefix = "checksum/";

/// How many chunks so many bytes are.
constexpr int64_t chunksOf(int64_t bytes) {
  return (bytes + chunkBytes - 1) / chunkBytes;
}

/// The checksums of bytes that come piece by piece.
class ChecksumStream {
public:
  void add(std::span<const std::byte> bytes);
  /// Of all that has been added; the stream is then as new.
  std::vector<uint64_t> finish();

private:
  std::vector<std::byte> pending; // of a chunk that is not whole
  std::vector<uint64_t> sums;
};

/// The number of the first chunk of `bytes` that has another checksum than
/// `sums` says, from chunk `first` on; nothing where all agree. The bytes begin
/// with a chunk and end with one.
std::optional<int64_t> findDamage(std::span<const std::byte> bytes,
                                  std::span<const uint64_t> sums,
                                  int64_t first);

/// 16 hexadecimal digits for each; and back, where there are `count` of them.
std::string checksumText(std::span<const uint64_t> sums);
std::optional<std::vector<uint64_t>> parseChecksums(std::string_view text,
                                                    int64_t count);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_CHECKSUMS_H
