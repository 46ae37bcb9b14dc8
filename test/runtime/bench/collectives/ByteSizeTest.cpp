// Unit tests for sizes of the command line.

#include "runtime/bench/collectives/ByteSize.h"

#include <gtest/gtest.h>

namespace reciperun::bench {
namespace {

TEST(ParseByteSize, TakesPowersOf1024) {
  EXPECT_EQ(parseByteSize("8"), 8);
  EXPECT_EQ(parseByteSize("64K"), 65536);
  EXPECT_EQ(parseByteSize("32m"), int64_t(32) << 20);
  EXPECT_EQ(parseByteSize("4G"), int64_t(4) << 30);
  EXPECT_EQ(parseByteSize("1T"), int64_t(1) << 40);
  EXPECT_EQ(parseByteSize("0.5G"), int64_t(1) << 29);
  EXPECT_EQ(parseByteSize("2KB"), 2048);
  EXPECT_EQ(parseByteSize("2MiB"), 2 << 20);
  EXPECT_EQ(parseByteSize("16B"), 16);
}

TEST(ParseByteSize, RefusesOtherTexts) {
  for (const char* text : {"", "K", "4X", "4Kb", "1.5", "-8", "1e3", "8 K",
                           "nan", "inf", "9999999T", "4GG"})
    EXPECT_EQ(parseByteSize(text), std::nullopt) << text;
}

} // namespace
} // namespace reciperun::bench
