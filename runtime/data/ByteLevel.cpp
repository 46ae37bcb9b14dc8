// The table in both directions, built at compile time.

#include "runtime/data/ByteLevel.h"

#include "runtime/data/Utf8.h"

#include <array>

namespace reciperun::data {

namespace {

constexpr uint32_t alphabetEnd = 0x100 + 68;

struct Alphabet {
  std::array<uint32_t, 256> characters{};
  std::array<int, alphabetEnd> bytes{};
};

constexpr bool standsForItself(uint32_t byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) ||
         byte >= 0xAE;
}

constexpr Alphabet makeAlphabet() {
  Alphabet alphabet;
  for (int& byte : alphabet.bytes)
    byte = -1;
  uint32_t next = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const uint32_t character = standsForItself(byte) ? byte : next++;
    alphabet.characters[byte] = character;
    alphabet.bytes[character] = static_cast<int>(byte);
  }
  return alphabet;
}

constexpr Alphabet alphabet = makeAlphabet();

} // namespace

uint32_t byteLevelCharacter(uint8_t byte) {
  return alphabet.characters[byte];
}

std::optional<std::string> byteLevelBytes(std::string_view token) {
  std::string bytes;
  for (size_t at = 0; at < token.size();) {
    const uint32_t character = takeCodePoint(token, at);
    if (character >= alphabetEnd || alphabet.bytes[character] < 0)
      return std::nullopt;
    bytes += static_cast<char>(alphabet.bytes[character]);
  }
  return bytes;
}

std::string byteLevelToken(std::string_view bytes) {
  std::string token;
  for (char byte : bytes)
    appendUtf8(token, byteLevelCharacter(static_cast<uint8_t>(byte)));
  return token;
}

} // namespace reciperun::data
