// The byte-level alphabet of GPT-2: each of the 256 bytes has one printable
// character that represents it in vocabularies and merges.
//
// Printable Latin-1 bytes represent themselves. The other 68 are U+0100 and up
// in byte order (`bytes_to_unicode` of GPT-2's encoder.py).

#ifndef RECIPERUN_DATA_BYTELEVEL_H
#define RECIPERUN_DATA_BYTELEVEL_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace reciperun::data {

/// The character that represents a byte.
uint32_t byteLevelCharacter(uint8_t byte);

/// Decodes a token to bytes; nullopt when it has a character outside the
/// alphabet. The token must be well-formed UTF-8.
std::optional<std::string> byteLevelBytes(std::string_view token);

/// Encodes bytes as a token.
std::string byteLevelToken(std::string_view bytes);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_BYTELEVEL_H
