// Digests that requests to S3 carry, by OpenSSL.

#ifndef RECIPERUN_STORAGE_DIGESTS_H
#define RECIPERUN_STORAGE_DIGESTS_H

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace reciperun::storage {

/// SHA-256 as 64 lower-case hexadecimal digits.
std::string sha256Hex(std::span<const std::byte> bytes);
std::string sha256Hex(std::string_view text);

/// MD5 as 32 lower-case hexadecimal digits: the ETag of an object that was
/// written by one request. `md5Base64` is that of the header Content-MD5.
std::string md5Hex(std::span<const std::byte> bytes);
std::string md5Base64(std::string_view text);

/// HMAC-SHA-256 as 32 bytes.
std::string hmacSha256(std::string_view key, std::string_view text);

/// Bytes as lower-case hexadecimal digits.
std::string hexOf(std::string_view bytes);

} // namespace reciperun::storage

#endif // RECIPERUN_STORAGE_DIGESTS_H
