// Masks over a vocabulary: equal to trying every token, cached by what matters,
// and bounded.

#include "test/runtime/Says.h"
#include "test/runtime/grammar/Walk.h"

#include <gtest/gtest.h>

#include <thread>

namespace reciperun::grammar {
namespace {

std::vector<std::string> allowedAfter(MaskTable& table, const Compiled& made,
                                      std::string_view text) {
  Matcher matcher(made.automaton);
  EXPECT_TRUE(matcher.acceptBytes(text).isOk()) << text;
  std::vector<uint32_t> mask(table.vocabulary().words(), 0xFFFFFFFF);
  EXPECT_TRUE(table.fill(matcher, mask).isOk());
  std::vector<std::string> tokens;
  for (const int32_t id : allowedIds(mask))
    tokens.emplace_back(table.vocabulary().bytesOf(id));
  return tokens;
}

using Tokens = std::vector<std::string>;

TEST(Mask, AllowsTokensThatCrossRules) {
  const auto tokens = std::make_shared<const Vocabulary>(
      Tokens{"", "[", "]", "]]", "]]]", "1", "12", ",1", ",", "1]", "a"});
  const Compiled made = schema(R"({"type": "array", "items": {"type": "array",
                 "items": {"type": "integer"}}, "maxItems": 2})");
  MaskTable table(made.automaton, tokens);
  EXPECT_EQ(allowedAfter(table, made, ""), (Tokens{"["}));
  EXPECT_EQ(allowedAfter(table, made, "["), (Tokens{"[", "]"}));
  EXPECT_EQ(allowedAfter(table, made, "[["),
            (Tokens{"]", "]]", "1", "12", "1]"}));
  EXPECT_EQ(allowedAfter(table, made, "[[1"),
            (Tokens{"]", "]]", "1", "12", ",1", ",", "1]"}));
  EXPECT_EQ(allowedAfter(table, made, "[[1],[]"), (Tokens{"]"}));
  EXPECT_EQ(allowedAfter(table, made, "[[1],[]]"), Tokens());
}

TEST(Mask, TokensMayEndInsideCharacters) {
  const auto tokens = std::make_shared<const Vocabulary>(
      Tokens{"\xE6", "\x97", "\xA5", "\x97\xA5", "\xA5\xE6", "\xE6\x98", "a"});
  const Compiled made = regex("日*");
  MaskTable table(made.automaton, tokens);
  EXPECT_EQ(allowedAfter(table, made, ""), (Tokens{"\xE6"}));
  EXPECT_EQ(allowedAfter(table, made, "\xE6"), (Tokens{"\x97", "\x97\xA5"}));
  EXPECT_EQ(allowedAfter(table, made, "\xE6\x97"),
            (Tokens{"\xA5", "\xA5\xE6"}));
}

TEST(Mask, CountedStatesShareMasks) {
  const auto tokens = std::make_shared<const Vocabulary>(smallVocabulary());
  const Compiled made = schema(R"({"type": "string", "maxLength": 20000})");
  MaskTable table(made.automaton, tokens);
  allowedAfter(table, made, "\"a");
  const size_t bytes = table.cachedBytes();
  allowedAfter(table, made, "\"" + std::string(9'000, 'a'));
  EXPECT_EQ(table.cachedBytes(), bytes);
  allowedAfter(table, made, "\"" + std::string(19'995, 'a'));
  EXPECT_GT(table.cachedBytes(), bytes); // near the end
}

TEST(Mask, StacksBeyondTheCacheAreRead) {
  // Every frame may be left without a byte, so that `z` depends on all of them.
  const auto tokens =
      std::make_shared<const Vocabulary>(Tokens{"x", "y", "z", "yz", "a"});
  const Compiled made =
      gbnf("root ::= \"a\" r \"z\"\nr ::= \"x\" r \"y\"? | \"x\"");
  ASSERT_EQ(made.refusal, "");
  MaskTable table(made.automaton, tokens);
  EXPECT_EQ(allowedAfter(table, made, "a" + std::string(200, 'x')),
            (Tokens{"x", "y", "z", "yz"}));
}

TEST(Mask, AmbiguousGrammarsFailInsteadOfStalling) {
  const auto tokens = std::make_shared<const Vocabulary>(
      Tokens{"a", std::string(30, 'a'), "b"});
  const Compiled made = gbnf("root ::= p | q | \"z\"\np ::= \"a\" root \"b\"\n"
                             "q ::= \"a\" root \"c\" \"b\"?\n");
  ASSERT_EQ(made.refusal, "");
  MaskTable table(made.automaton, tokens);
  std::vector<uint32_t> mask(1);
  EXPECT_PRED2(says, table.fill(Matcher(made.automaton), mask).message(),
               "in more than 256 ways");
}

TEST(Mask, IsSharedByThreads) {
  const auto tokens = std::make_shared<const Vocabulary>(smallVocabulary());
  const Compiled made = schema("{}");
  MaskTable table(made.automaton, tokens);
  const Tokens expected = allowedAfter(table, made, "{\"a\": [1");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (const char* text : {"", "{", "{\"a", "[[", "{\"a\": [1"})
        allowedAfter(table, made, text);
      EXPECT_EQ(allowedAfter(table, made, "{\"a\": [1"), expected);
    });
  for (std::thread& each : threads)
    each.join();
}

TEST(Matcher, RefusesWithoutReading) {
  const Compiled made = regex("abc");
  Matcher matcher(made.automaton);
  EXPECT_TRUE(matcher.acceptBytes("ab").isOk());
  EXPECT_PRED2(says, matcher.acceptBytes("cd").message(),
               "`cd` does not continue the text from its byte 2 on");
  EXPECT_FALSE(matcher.isComplete());
  EXPECT_TRUE(matcher.acceptBytes("c").isOk());
  EXPECT_TRUE(matcher.isComplete());
  EXPECT_FALSE(matcher.canGoOn());
}

} // namespace
} // namespace reciperun::grammar
