// CRC32C (polynomial of Castagnoli; RFC 3720, appendix B.4), the checksum of
// objects in stores and of records of TensorBoard.

#ifndef RECIPERUN_BASE_CRC32C_H
#define RECIPERUN_BASE_CRC32C_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace reciperun {

/// The CRC32C of bytes; that of earlier bytes and these when `before` is the
/// CRC32C of the earlier ones.
uint32_t crc32c(std::span<const std::byte> bytes, uint32_t before = 0);

/// The CRC32C of two texts, one after the other, from those of each and the
/// size of the second.
uint32_t joinCrc32c(uint32_t first, uint32_t second, uint64_t secondBytes);

/// As in headers of S3: the 4 bytes, the highest first, in base64.
std::string crc32cText(uint32_t crc);
/// nullopt for any other text, such as that of a checksum of checksums.
std::optional<uint32_t> parseCrc32c(std::string_view text);

} // namespace reciperun

#endif // RECIPERUN_BASE_CRC32C_H
