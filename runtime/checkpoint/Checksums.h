// Checksums of a tensor's bytes, chunk by chunk: a reader of a range of a
// tensor reads the chunks that contain it, and can detect damage.
//
// A chunk is small compared to one read, so that a range costs little extra,
// and large compared to its 16 digits in the header.

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

/// The bytes of a chunk of a tensor's data; the last chunk may be shorter.
inline constexpr int64_t chunkBytes = int64_t(128) << 10;

/// The entries of a header's `__metadata__`: the bytes of a chunk, and the
/// checksums of a tensor's chunks under the prefix and the tensor's name.
inline constexpr std::string_view checksumBytesName = "checksum_bytes";
inline constexpr std::string_view checksumPrefix = "checksum/";

/// The number of chunks of `bytes` bytes.
constexpr int64_t chunksOf(int64_t bytes) {
  return (bytes + chunkBytes - 1) / chunkBytes;
}

/// Computes the checksums of bytes that arrive in pieces.
class ChecksumStream {
public:
  void add(std::span<const std::byte> bytes);
  /// Returns the checksums of all added bytes and resets the stream.
  std::vector<uint64_t> finish();

private:
  std::vector<std::byte> pending; // of an incomplete chunk
  std::vector<uint64_t> sums;
};

/// Compares the checksums of `bytes`, whose first chunk has index `first`, with
/// `sums`. Returns the index of the first chunk that differs, or nullopt when
/// all are equal. The bytes begin and end at chunk boundaries.
std::optional<int64_t> findDamage(std::span<const std::byte> bytes,
                                  std::span<const uint64_t> sums,
                                  int64_t first);

/// Formats 16 hexadecimal digits for each checksum; and parses them if there
/// are exactly `count`.
std::string checksumText(std::span<const uint64_t> sums);
std::optional<std::vector<uint64_t>> parseChecksums(std::string_view text,
                                                    int64_t count);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_CHECKSUMS_H
