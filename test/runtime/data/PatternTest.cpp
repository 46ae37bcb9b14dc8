// Oniguruma's expressions keep their meaning when translated.

#include "runtime/data/Pattern.h"

#include <gtest/gtest.h>

namespace reciperun::data {
namespace {

std::vector<std::string> cut(std::string_view expression,
                             const std::string& text) {
  const Expected<Pattern> pattern = Pattern::compile(expression);
  EXPECT_TRUE(pattern) << pattern.message();
  std::vector<Span> spans;
  EXPECT_TRUE(pattern->matches(text, spans).isOk());
  std::vector<std::string> words;
  for (Span span : spans)
    words.push_back(text.substr(span.begin, span.end - span.begin));
  return words;
}

using Words = std::vector<std::string>;

TEST(Pattern, whiteSpaceIsUnicodes) {
  // NEL, no-break space and ideographic space match; U+180E does not.
  EXPECT_EQ(cut("\\s", "a\u0085b\u00a0c\u3000d\u180ee"),
            (Words{"\u0085", "\u00a0", "\u3000"}));
  EXPECT_EQ(cut("[^\\s]+", "a\u00a0b"), (Words{"a", "b"}));
}

TEST(Pattern, wordsTakeInMarks) {
  EXPECT_EQ(cut("\\w+", "e\u0301t\u00e9 x"), (Words{"e\u0301t\u00e9", "x"}));
}

TEST(Pattern, escapesThatDifferAreTranslated) {
  EXPECT_EQ(cut("\\h+", "xyz09af"), Words{"09af"});
  EXPECT_EQ(cut("\\u00e9", "caf\u00e9"), Words{"\u00e9"});
  EXPECT_EQ(cut("\\p{Han}+", "ab\u4e2d\u6587c"), Words{"\u4e2d\u6587"});
}

TEST(Pattern, emptyMatchesCutBetweenCodePoints) {
  // Matches before each code point except where a match has just ended.
  EXPECT_EQ(cut("x*", "\u00e9xx\u00e9a"), (Words{"", "xx", ""}));
}

TEST(Pattern, literalsAreNotExpressions) {
  const Expected<Pattern> pattern = Pattern::literal("a.b[c]");
  ASSERT_TRUE(pattern) << pattern.message();
  std::vector<Span> spans;
  ASSERT_TRUE(pattern->matches("axb[c] a.b[c]", spans).isOk());
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].begin, 7u);
}

TEST(Pattern, longRunsMatch) {
  const std::string spaces(1 << 20, ' ');
  EXPECT_EQ(cut("\\s+(?!\\S)|\\s+", spaces + "x").size(), 2u);
  EXPECT_EQ(cut("(?:a|b)+", std::string(1 << 18, 'a')).size(), 1u);
}

TEST(Pattern, failWhatPcre2WouldReadOtherwise) {
  for (const char* expression :
       {"[a-z&&[^b]]", "[a[b]]", "\\K", "[\\W]", "(?m:a.b)", "[a", "a\\"}) {
    const Expected<Pattern> pattern = Pattern::compile(expression);
    EXPECT_FALSE(pattern) << expression;
    EXPECT_NE(pattern.message().find("not supported"), std::string::npos)
        << pattern.message();
  }
}

TEST(Pattern, failBrokenExpression) {
  const Expected<Pattern> pattern = Pattern::compile("a(b");
  EXPECT_EQ(pattern.message(),
            "the regular expression `a(b` cannot be read at its byte 4");
}

TEST(Pattern, failBacktracksWithoutBound) {
  for (const char* expression : {"(a+)+$", "(?:a|aa)+$", "(x+x+)+[yz]",
                                 "(.*.*.*.*.*.*)[=+]", "(\\w|.)+[!?]"}) {
    const Expected<Pattern> pattern = Pattern::compile(expression);
    ASSERT_TRUE(pattern) << pattern.message();
    std::vector<Span> found;
    const std::string text = std::string("ok ") +
                             std::string(80, expression[1] == 'x' ? 'x' : 'a') +
                             " b";
    const Status status = pattern->matches(text, found);
    ASSERT_FALSE(status.isOk()) << expression;
    const std::string start = "the tokenizer's regular expression `" +
                              std::string(expression) +
                              "` backtracks without bound at `";
    EXPECT_EQ(status.message().substr(0, start.size()), start);
  }
}

TEST(Pattern, longRunsThatEndAreNoBoundlessOnes) {
  const std::string spaces(1 << 20, ' ');
  EXPECT_EQ(cut("\\s+(?!\\S)|\\s+", spaces + "x").size(), 2u);
  EXPECT_EQ(cut("\\s*[\\r\\n]+|\\s+", spaces).size(), 1u);
  // A long text without a match is searched in pieces.
  EXPECT_EQ(cut("\\d", "1" + std::string(100'000, 'x') + "2\u00e93").size(),
            3u);
  EXPECT_EQ(cut("(?<=\u00e9)x", std::string(1000, 'y') + "\u00e9x").size(), 1u);
}

} // namespace
} // namespace reciperun::data
