// Compares hashes with those of xxhsum, the program of the hash's author.

#include "runtime/base/Hash.h"

#include <gtest/gtest.h>

#include <vector>

namespace reciperun {
namespace {

std::span<const std::byte> bytesOf(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(Hash, IsXxh3) {
  // From printf abc | xxhsum -H2 and printf '' | xxhsum -H2, then both with
  // -H3.
  EXPECT_EQ(hashOf("abc").text(), "06b05ab6733a618578af5f94892f3950");
  EXPECT_EQ(hashOf("").text(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hexText(checksumOf(bytesOf("abc"))), "78af5f94892f3950");
}

TEST(Hash, OfPiecesIsThatOfTheWhole) {
  std::string text;
  for (int i = 0; i < 5000; ++i)
    text += char('a' + i * i % 23);
  for (size_t cut : {size_t(0), size_t(1), size_t(240), size_t(4096)}) {
    Hasher hasher;
    hasher.add(std::string_view(text).substr(0, cut));
    hasher.add(std::string_view(text).substr(cut));
    EXPECT_EQ(hasher.hash(), hashOf(text)) << cut;
  }
}

TEST(Hash, DiffersByABit) {
  std::vector<std::byte> bytes(100'000);
  const uint64_t before = checksumOf(bytes);
  for (size_t at : {size_t(0), size_t(77'777), bytes.size() - 1}) {
    bytes[at] ^= std::byte(4);
    EXPECT_NE(checksumOf(bytes), before) << at;
    bytes[at] ^= std::byte(4);
  }
  EXPECT_EQ(checksumOf(bytes), before);
}

TEST(Hash, HexGoesBack) {
  for (uint64_t number : {uint64_t(0), uint64_t(0x1f), ~uint64_t(0)})
    EXPECT_EQ(parseHex(hexText(number)), number);
  for (const char* text : {"", "1f", "000000000000001g", "000000000000001F",
                           "-00000000000001f", "0000000000000001f"})
    EXPECT_EQ(parseHex(text), std::nullopt) << text;
}

} // namespace
} // namespace reciperun
