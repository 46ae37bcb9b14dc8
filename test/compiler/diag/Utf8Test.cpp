// Code points of UTF-8 text, by table 3-7 of Unicode 15.

#include "compiler/base/Utf8.h"

#include <gtest/gtest.h>

using namespace recipec;

namespace {

const std::string euro = "\xE2\x82\xAC";

TEST(Utf8Test, MeasuresValidCodePoints) {
  EXPECT_EQ(codePointLength("a"), 1u);
  EXPECT_EQ(codePointLength("\xC3\xA9t"), 2u);
  EXPECT_EQ(codePointLength(euro + "a"), 3u);
  EXPECT_EQ(codePointLength("\xF0\x9F\x98\x80"), 4u);
  EXPECT_EQ(firstCodePoint(euro + "a"), 0x20ACu);
}

TEST(Utf8Test, FindsWhatIsNotUtf8) {
  EXPECT_EQ(codePointLength(""), 0u);
  EXPECT_EQ(codePointLength("\x80"), 0u);             // a continuation byte
  EXPECT_EQ(codePointLength("\xE2\x82"), 0u);         // truncated
  EXPECT_EQ(codePointLength("\xC0\xAF"), 0u);         // overlong
  EXPECT_EQ(codePointLength("\xE0\x80\xAF"), 0u);     // overlong
  EXPECT_EQ(codePointLength("\xED\xA0\x80"), 0u);     // a surrogate
  EXPECT_EQ(codePointLength("\xF4\x90\x80\x80"), 0u); // above U+10FFFF
}

TEST(Utf8Test, AppendsScalarValues) {
  std::string text;
  for (uint32_t value : {0x61u, 0xE9u, 0x20ACu, 0x1F600u})
    EXPECT_TRUE(appendCodePoint(value, text));
  EXPECT_EQ(text, "a\xC3\xA9" + euro + "\xF0\x9F\x98\x80");
  EXPECT_FALSE(appendCodePoint(0xD800, text));
  EXPECT_FALSE(appendCodePoint(0x110000, text));
  EXPECT_EQ(countCodePoints(text), 4);
  EXPECT_EQ(offsetOfCodePoint(text, 2), 3u);
  EXPECT_EQ(offsetOfCodePoint(text, 4), text.size());
}

} // namespace
