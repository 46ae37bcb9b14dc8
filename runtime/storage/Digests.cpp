// See Digests.h.

#include "runtime/storage/Digests.h"

#include <cassert>
#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace reciperun::storage {
namespace {

std::string digest(const EVP_MD* kind, const void* data, size_t size) {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned count = 0;
  [[maybe_unused]] const int done =
      EVP_Digest(data, size, bytes, &count, kind, nullptr);
  assert(done == 1 && "OpenSSL has SHA-256 and MD5");
  return std::string(reinterpret_cast<const char*>(bytes), count);
}

} // namespace

std::string hexOf(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    text += digits[static_cast<unsigned char>(byte) >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string sha256Hex(std::span<const std::byte> bytes) {
  return hexOf(digest(EVP_sha256(), bytes.data(), bytes.size()));
}

std::string sha256Hex(std::string_view text) {
  return hexOf(digest(EVP_sha256(), text.data(), text.size()));
}

std::string md5Hex(std::span<const std::byte> bytes) {
  return hexOf(digest(EVP_md5(), bytes.data(), bytes.size()));
}

std::string md5Base64(std::string_view text) {
  const std::string bytes = digest(EVP_md5(), text.data(), text.size());
  std::string out(4 * ((bytes.size() + 2) / 3), '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                  reinterpret_cast<const unsigned char*>(bytes.data()),
                  int(bytes.size()));
  return out;
}

std::string hmacSha256(std::string_view key, std::string_view text) {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned count = 0;
  HMAC(EVP_sha256(), key.data(), int(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes,
       &count);
  return std::string(reinterpret_cast<const char*>(bytes), count);
}

} // namespace reciperun::storage
