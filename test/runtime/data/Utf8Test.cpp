// Well-formedness at the boundaries of table 3-7 of the Unicode Standard.

#include "runtime/data/Utf8.h"

#include <gtest/gtest.h>

namespace reciperun::data {
namespace {

using std::string_view;

TEST(Utf8, acceptsEachLength) {
  EXPECT_EQ(firstIllFormed("a\u00e9\u4e2d\U0001F600"), string_view::npos);
  EXPECT_EQ(firstIllFormed("\xF4\x8F\xBF\xBF"), string_view::npos);
}

TEST(Utf8, findsTheFirstIllFormedByte) {
  EXPECT_EQ(firstIllFormed("ab\xFF"), 2u);
  EXPECT_EQ(firstIllFormed("\xC0\x80"), 0u);         // overlong
  EXPECT_EQ(firstIllFormed("x\xED\xA0\x80"), 1u);    // a surrogate
  EXPECT_EQ(firstIllFormed("\xF4\x90\x80\x80"), 0u); // above U+10FFFF
  EXPECT_EQ(firstIllFormed("\xE4\xB8"), 0u);         // cut off
}

TEST(Utf8, replacesMaximalSubparts) {
  // The example of section 3.9, table 3-8.
  EXPECT_EQ(replaceIllFormed("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63"),
            "a\uFFFD\uFFFD\uFFFDb\uFFFDc");
}

TEST(Utf8, countsTheBytesOfACutOffEnd) {
  EXPECT_EQ(cutOffBytes("abc"), 0u);
  EXPECT_EQ(cutOffBytes("a\xE4\xB8"), 2u);
  EXPECT_EQ(cutOffBytes("a\xF0\x9F\x98"), 3u);
  EXPECT_EQ(cutOffBytes("a\x80"), 0u); // no byte can complete it
}

TEST(Utf8, codePointsSurviveTheWayThere) {
  for (uint32_t point : {0x41u, 0xE9u, 0x7FFu, 0x800u, 0xFFFDu, 0x1F600u}) {
    std::string text;
    appendUtf8(text, point);
    size_t at = 0;
    EXPECT_EQ(takeCodePoint(text, at), point);
    EXPECT_EQ(at, text.size());
  }
}

} // namespace
} // namespace reciperun::data
