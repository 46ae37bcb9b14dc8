// See Digest.h.

#include "runtime/server/access/Digest.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <charconv>

namespace reciperun::server {

Digest sha256(std::string_view text) {
  Digest made;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         made.data());
  return made;
}

std::optional<Digest> digestOf(std::string_view hexadecimal) {
  Digest made;
  if (hexadecimal.size() != 2 * made.size())
    return std::nullopt;
  for (size_t i = 0; i < made.size(); ++i) {
    const char* const digits = hexadecimal.data() + 2 * i;
    const auto read = std::from_chars(digits, digits + 2, made[i], 16);
    if (read.ec != std::errc() || read.ptr != digits + 2)
      return std::nullopt;
  }
  return made;
}

bool isSame(const Digest& one, const Digest& other) {
  return CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

} // namespace reciperun::server
