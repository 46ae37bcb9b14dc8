// The byte-level alphabet of GPT-2: each of the 256 bytes has one printable
// character that stands for it in vocabularies and merges.
//
// Printable Latin-1 bytes stand for themselves, the other 68 are U+0100 and up
// in the order of the bytes (`bytes_to_unicode` of GPT-2's encoder.py).

#ifndef RECIPERUN_DATA_BYTELEVEL_H
#define RECIPERUN_DATA_BYTELEVEL_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace reciperun::data {

/// The character that stands for a byte.
uint32_t byteLevelCharacter(uint8_t byte);

/// The bytes that a token stands for; none where it holds a character that is
/// not of the alphabet. The token is well-formed UTF-8.
std::optional<std::string> byteLevelBytes(std::string_view token);

/// The token that stands for these bytes.
std::string byteLevelToken(std::string_view bytes);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_BYTELEVEL_H
