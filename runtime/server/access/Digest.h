// SHA-256 of secrets, and their comparison in constant time.

#ifndef RECIPERUN_SERVER_ACCESS_DIGEST_H
#define RECIPERUN_SERVER_ACCESS_DIGEST_H

#include <array>
#include <optional>
#include <string_view>

namespace reciperun::server {

using Digest = std::array<unsigned char, 32>;

Digest sha256(std::string_view text);

/// Reads 64 hexadecimal digits; nullopt for anything else.
std::optional<Digest> digestOf(std::string_view hexadecimal);

/// The time does not depend on the bytes.
bool isSame(const Digest& one, const Digest& other);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_ACCESS_DIGEST_H
