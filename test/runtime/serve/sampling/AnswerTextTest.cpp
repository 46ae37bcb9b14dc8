// The text of tokens: whole characters, stop strings across tokens.

#include "runtime/serve/sampling/AnswerText.h"

#include "runtime/data/Utf8.h"
#include "runtime/serve/sampling/BadWords.h"
#include "test/runtime/data/SmallTokenizer.h"

#include <gtest/gtest.h>

namespace reciperun::serve {
namespace {

/// Bytes are the tokens 0..255; 259 is `hello`, 260 ` w`, 301 `</s>`.
const data::Tokenizer& tokenizer() {
  static const Expected<data::Tokenizer> parsed =
      data::Tokenizer::parse(data::smallTokenizer().dump(), "small");
  return *parsed;
}

std::vector<int32_t> bytesOf(const std::string& text) {
  std::vector<int32_t> ids;
  for (char byte : text)
    ids.push_back(uint8_t(byte));
  return ids;
}

/// The pieces of the tokens, each checked to be UTF-8, and the rest.
std::vector<std::string> piecesOf(const std::vector<int32_t>& ids,
                                  const SamplingOptions& options = {}) {
  AnswerText text(tokenizer(), options);
  std::vector<std::string> pieces;
  for (int32_t id : ids)
    pieces.push_back(text.next(id));
  pieces.push_back(text.finish());
  for (const std::string& piece : pieces)
    EXPECT_EQ(data::firstIllFormed(piece), std::string::npos);
  return pieces;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces)
    text += piece;
  return text;
}

using Pieces = std::vector<std::string>;

TEST(AnswerText, CharactersOfSeveralTokensComeWhole) {
  EXPECT_EQ(piecesOf(bytesOf("aé€")), (Pieces{"a", "", "é", "", "", "€", ""}));
  EXPECT_EQ(piecesOf(bytesOf("😀")), (Pieces{"", "", "", "😀", ""}));
  // An incomplete character at the end, and bytes that are none.
  EXPECT_EQ(piecesOf(bytesOf("a\xE2\x82")), (Pieces{"a", "", "", "\uFFFD"}));
  EXPECT_EQ(joined(piecesOf(bytesOf("\xFF"
                                    "b"))),
            "\uFFFDb");
}

TEST(AnswerText, StopStringsLieAcrossTokens) {
  SamplingOptions options;
  options.stopStrings = {"o wor", "é!"};
  EXPECT_EQ(joined(piecesOf({259, 260, 'o', 'r', 'l'}, options)), "hell");
  EXPECT_EQ(joined(piecesOf({259, 260, 'o', 'e'}, options)), "hello woe");
  AnswerText text(tokenizer(), options);
  std::string all;
  for (int32_t id : bytesOf("caf\xC3\xA9!x"))
    all += text.next(id);
  EXPECT_EQ(all + text.finish(), "caf");
  EXPECT_EQ(text.stopString(), size_t(1));
}

TEST(AnswerText, TheRestMayCompleteAStopString) {
  SamplingOptions options;
  options.stopStrings = {"b\uFFFD"};
  EXPECT_EQ(joined(piecesOf(bytesOf("ab\xE2"), options)), "a");
}

TEST(AnswerText, StopStringsWaitForMinTokens) {
  SamplingOptions options;
  options.stopStrings = {"ab"};
  options.minTokens = 3;
  EXPECT_EQ(joined(piecesOf(bytesOf("abxabx"), options)), "abx");
  EXPECT_EQ(joined(piecesOf(bytesOf("xxabx"), options)), "xx");
}

TEST(AnswerText, SpecialAndUnknownTokensHaveNoText) {
  EXPECT_EQ(joined(piecesOf({259, 301, 280, 100000, '!'})), "hello!");
}

TEST(BadWords, AreSpelledWithAndWithoutASpace) {
  using Sequences = std::vector<std::vector<int32_t>>;
  EXPECT_EQ(*badWordTokens(tokenizer(), "wo"), (Sequences{{'w', 'o'}, {261}}));
  EXPECT_EQ(*badWordTokens(tokenizer(), " wo"), (Sequences{{'w', 'o'}, {261}}));
  EXPECT_EQ(*badWordTokens(tokenizer(), " "), (Sequences{{' '}}));
  EXPECT_EQ(badWordTokens(tokenizer(), "").message(),
            "the bad word `` has no token; leave it out");
}

} // namespace
} // namespace reciperun::serve
