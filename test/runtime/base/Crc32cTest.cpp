// Known answers: RFC 3720, appendix B.4.

#include "runtime/base/Crc32c.h"

#include <gtest/gtest.h>
#include <vector>

namespace reciperun {
namespace {

std::vector<std::byte> bytesFrom(int count, int first, int step) {
  std::vector<std::byte> bytes;
  for (int i = 0; i < count; ++i)
    bytes.push_back(std::byte(first + i * step));
  return bytes;
}

TEST(Crc32c, HasKnownAnswers) {
  EXPECT_EQ(crc32c(bytesFrom(32, 0, 0)), 0x8a9136aau);
  EXPECT_EQ(crc32c(bytesFrom(32, 0xff, 0)), 0x62a8ab43u);
  EXPECT_EQ(crc32c(bytesFrom(32, 0, 1)), 0x46dd794eu);
  EXPECT_EQ(crc32c(bytesFrom(32, 31, -1)), 0x113fdb5cu);
  EXPECT_EQ(crc32c(bytesFrom(9, '1', 1)), 0xe3069283u); // 123456789
  EXPECT_EQ(crc32c({}), 0u);
}

TEST(Crc32c, IsThatOfAllBytesWhenAddedPieceByPiece) {
  const auto bytes = bytesFrom(1000, 3, 7);
  const std::span all(bytes);
  for (const size_t cut : {0, 1, 7, 8, 500, 999, 1000}) {
    const uint32_t first = crc32c(all.first(cut));
    const uint32_t second = crc32c(all.subspan(cut));
    EXPECT_EQ(crc32c(all.subspan(cut), first), crc32c(all)) << cut;
    EXPECT_EQ(joinCrc32c(first, second, 1000 - cut), crc32c(all)) << cut;
  }
}

TEST(Crc32c, IsBase64InHeaders) {
  EXPECT_EQ(crc32cText(0xe3069283), "4waSgw==");
  EXPECT_EQ(crc32cText(0), "AAAAAA==");
  EXPECT_EQ(parseCrc32c("4waSgw=="), 0xe3069283u);
  EXPECT_EQ(parseCrc32c("4waSgw==-3"), std::nullopt);
  EXPECT_EQ(parseCrc32c("4wa*gw=="), std::nullopt);
  EXPECT_EQ(parseCrc32c(""), std::nullopt);
}

} // namespace
} // namespace reciperun
