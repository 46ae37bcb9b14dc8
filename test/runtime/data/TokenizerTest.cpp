// Encoding and decoding with a tokenizer that can be checked by eye.

#include "runtime/data/Tokenizer.h"
#include "runtime/base/StopSignal.h"

#include "test/runtime/data/SmallTokenizer.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

namespace reciperun::data {
namespace {

using Ids = std::vector<int32_t>;

Tokenizer make(const nlohmann::json& file) {
  Expected<Tokenizer> tokenizer = Tokenizer::parse(file.dump(), "small");
  EXPECT_TRUE(tokenizer) << tokenizer.message();
  return std::move(*tokenizer);
}

Ids encode(const nlohmann::json& file, std::string_view text,
           bool addSpecial = false) {
  const Expected<Ids> ids = make(file).encode(text, addSpecial);
  EXPECT_TRUE(ids) << ids.message();
  return *ids;
}

TEST(Tokenizer, mergesByRank) {
  EXPECT_EQ(encode(smallTokenizer(), "hello world"),
            (Ids{259, 261, 'r', 'l', 'd'}));
  // Among equal ranks, the leftmost merge comes first.
  EXPECT_EQ(encode(smallTokenizer(), "111"), (Ids{262, '1'}));
  EXPECT_EQ(encode(smallTokenizer(), "lll"), (Ids{257, 'l'}));
}

TEST(Tokenizer, readsMergesAsTexts) {
  nlohmann::json file = smallTokenizer();
  for (nlohmann::json& merge : file["model"]["merges"])
    merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  EXPECT_EQ(encode(file, "hello world"), (Ids{259, 261, 'r', 'l', 'd'}));
}

TEST(Tokenizer, wordsAreCutAsGpt2Does) {
  // Contractions, runs of spaces (the last stays with the word), numbers.
  const Tokenizer tokenizer = make(smallTokenizer());
  EXPECT_EQ(*tokenizer.encode("x   w"), (Ids{'x', ' ', ' ', 260}));
  EXPECT_EQ(*tokenizer.encode("h'll"), (Ids{'h', '\'', 257}));
}

TEST(Tokenizer, wholeWordsWithIgnoredMerges) {
  nlohmann::json file = smallTokenizer();
  file["model"]["vocab"]["world"] = 299; // no merge makes it
  EXPECT_EQ(encode(file, "world"), (Ids{'w', 'o', 'r', 'l', 'd'}));
  file["model"]["ignore_merges"] = true;
  EXPECT_EQ(encode(file, "world"), Ids{299});
}

TEST(Tokenizer, addsAPrefixSpace) {
  nlohmann::json file = smallTokenizer();
  file["pre_tokenizer"]["add_prefix_space"] = true;
  EXPECT_EQ(encode(file, "wo"), Ids{261});
  EXPECT_EQ(encode(file, " wo"), Ids{261});
  EXPECT_EQ(encode(file, ""), Ids{});
  EXPECT_EQ(encode(file, "<s>wo"), (Ids{300, 261}));
}

TEST(Tokenizer, splitsBeforeByteLevel) {
  nlohmann::json file = smallTokenizer();
  const auto withSplit = [&](const char* behavior, bool invert) {
    file["pre_tokenizer"] = {{"type", "Sequence"},
                             {"pretokenizers",
                              {{{"type", "Split"},
                                {"pattern", {{"Regex", "l"}}},
                                {"behavior", behavior},
                                {"invert", invert}},
                               {{"type", "ByteLevel"},
                                {"add_prefix_space", false},
                                {"use_regex", false}}}}};
    return encode(file, "hello");
  };
  EXPECT_EQ(withSplit("Isolated", false), (Ids{256, 'l', 'l', 'o'}));
  EXPECT_EQ(withSplit("Removed", false), (Ids{256, 'o'}));
  EXPECT_EQ(withSplit("Removed", true), (Ids{'l', 'l'}));
  EXPECT_EQ(withSplit("Contiguous", false), (Ids{256, 257, 'o'}));
  EXPECT_EQ(withSplit("MergedWithPrevious", false), (Ids{256, 'l', 'l', 'o'}));
  EXPECT_EQ(withSplit("MergedWithNext", false), (Ids{256, 'l', 'l', 'o'}));
}

TEST(Tokenizer, singleDigits) {
  nlohmann::json file = smallTokenizer();
  file["pre_tokenizer"] = {
      {"type", "Sequence"},
      {"pretokenizers",
       {{{"type", "Digits"}, {"individual_digits", true}},
        {{"type", "ByteLevel"}, {"add_prefix_space", false}}}}};
  EXPECT_EQ(encode(file, "11"), (Ids{'1', '1'}));
}

TEST(Tokenizer, addedTokensAreFoundFirst) {
  EXPECT_EQ(encode(smallTokenizer(), "hello<s></s>hello"),
            (Ids{259, 300, 301, 259}));
}

nlohmann::json withToken(const char* content, const char* option) {
  nlohmann::json file = smallTokenizer();
  nlohmann::json token = file["added_tokens"][0];
  token["id"] = 302;
  token["content"] = content;
  token["special"] = false;
  token[option] = true;
  file["added_tokens"].push_back(token);
  return file;
}

TEST(Tokenizer, addedTokensTakeSpacesAlong) {
  EXPECT_EQ(encode(withToken("<m>", "lstrip"), "a  <m> b"),
            (Ids{'a', 302, ' ', 'b'}));
  EXPECT_EQ(encode(withToken("<m>", "rstrip"), "a  <m> b"),
            (Ids{'a', ' ', ' ', 302, 'b'}));
}

TEST(Tokenizer, addedTokensOfASingleWord) {
  const nlohmann::json file = withToken("ab", "single_word");
  EXPECT_EQ(encode(file, "ab"), Ids{302});
  EXPECT_EQ(encode(file, "(ab)"), (Ids{'(', 302, ')'}));
  EXPECT_EQ(encode(file, "abc"), (Ids{'a', 'b', 'c'}));
  EXPECT_EQ(encode(file, "\u00e9ab"), (Ids{0xC3, 0xA9, 'a', 'b'}));
}

TEST(Tokenizer, theLongestAddedTokenWins) {
  nlohmann::json file = withToken("<s><s>", "normalized");
  EXPECT_EQ(encode(file, "<s><s>x"), (Ids{300, 300, 'x'}));
  file["added_tokens"][2]["normalized"] = false;
  EXPECT_EQ(encode(file, "<s><s>x"), (Ids{302, 'x'}));
}

TEST(Tokenizer, templateAroundTheText) {
  nlohmann::json file = smallTokenizer();
  file["post_processor"] = {
      {"type", "Sequence"},
      {"processors",
       {{{"type", "ByteLevel"}},
        {{"type", "TemplateProcessing"},
         {"single",
          {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}},
           {{"Sequence", {{"id", "A"}, {"type_id", 0}}}},
           {{"SpecialToken", {{"id", "</s>"}, {"type_id", 0}}}}}},
         {"special_tokens",
          {{"<s>", {{"id", "<s>"}, {"ids", {300}}}},
           {"</s>", {{"id", "</s>"}, {"ids", {301}}}}}}}}}};
  EXPECT_EQ(encode(file, "hello", true), (Ids{300, 259, 301}));
  EXPECT_EQ(encode(file, "hello", false), Ids{259});
}

TEST(Tokenizer, bytesWithoutTokensAreDroppedOrUnknown) {
  nlohmann::json file = smallTokenizer();
  file["model"]["vocab"].erase("q");
  EXPECT_EQ(make(file).missingBytes(), 1);
  EXPECT_EQ(encode(file, "xqqx"), (Ids{'x', 'x'}));
  file["model"]["vocab"]["<unk>"] = 298;
  file["model"]["unk_token"] = "<unk>";
  EXPECT_EQ(encode(file, "xqqx"), (Ids{'x', 298, 298, 'x'}));
  file["model"]["fuse_unk"] = true;
  EXPECT_EQ(encode(file, "xqqx"), (Ids{'x', 298, 'x'}));
}

TEST(Tokenizer, decodesWhatItEncodes) {
  const Tokenizer tokenizer = make(smallTokenizer());
  const std::string text = "hello \u00e9\u4e2d\U0001F600\n\t\0 end";
  EXPECT_EQ(tokenizer.decode(*tokenizer.encode(text)), text);
  const Ids special = {300, 259, 301};
  EXPECT_EQ(tokenizer.decode(special), "hello");
  EXPECT_EQ(tokenizer.decode(special, false), "<s>hello</s>");
  const Ids beyond = {259, 99999, -1};
  EXPECT_EQ(tokenizer.decode(beyond), "hello");
  EXPECT_EQ(tokenizer.decode(Ids{0xE4, 0xB8}), "\uFFFD");
}

TEST(Tokenizer, illFormedTextCountsAsReplaced) {
  const Tokenizer tokenizer = make(smallTokenizer());
  EXPECT_EQ(*tokenizer.encode("a\xFFz"), *tokenizer.encode("a\uFFFDz"));
}

TEST(Tokenizer, streamsWholeCodePoints) {
  const Tokenizer tokenizer = make(smallTokenizer());
  StreamDecoder decoder(tokenizer);
  EXPECT_EQ(decoder.next(300), "");
  EXPECT_EQ(decoder.next(0xF0), "");
  EXPECT_EQ(decoder.next(0x9F), "");
  EXPECT_EQ(decoder.next(0x98), "");
  EXPECT_EQ(decoder.next(0x80), "\U0001F600");
  EXPECT_EQ(decoder.next(0xE4), "");
  EXPECT_EQ(decoder.next('a'), "\uFFFDa");
  EXPECT_EQ(decoder.next(0xE4), "");
  EXPECT_EQ(decoder.finish(), "\uFFFD");
  EXPECT_EQ(decoder.finish(), "");
}

TEST(Tokenizer, longWordsAreLinearithmic) {
  std::string text;
  for (int i = 0; i < 100000; ++i)
    text += "hello";
  EXPECT_EQ(encode(smallTokenizer(), text).size(), 100000u);
}

TEST(Tokenizer, normalizesOrSaysThatItCannot) {
  nlohmann::json file = smallTokenizer();
  file["normalizer"] = {{"type", "Sequence"},
                        {"normalizers", {{{"type", "NFC"}}}}};
  if (const Status status = checkNormalization(NormalizationForm::nfc);
      !status.isOk()) {
    EXPECT_EQ(Tokenizer::parse(file.dump(), "small").message(),
              "`small`: " + status.message());
    return;
  }
  EXPECT_EQ(encode(file, "e\u0301<s>e"), (Ids{0xC3, 0xA9, 300, 'e'}));
  file["normalizer"] = {{"type", "NFD"}};
  EXPECT_EQ(encode(file, "\u00e9"), (Ids{'e', 0xCC, 0x81}));
}

TEST(Tokenizer, keepsTheFilesText) {
  const std::string text = smallTokenizer().dump(3) + "\n\n";
  EXPECT_EQ(Tokenizer::parse(text, "small")->fileText(), text);
}

/// The small tokenizer with another pattern.
nlohmann::json splitting(const char* expression, const char* behavior) {
  nlohmann::json file = smallTokenizer();
  file["pre_tokenizer"] = {{"type", "Sequence"},
                           {"pretokenizers",
                            {{{"type", "Split"},
                              {"pattern", {{"Regex", expression}}},
                              {"behavior", behavior},
                              {"invert", false}},
                             {{"type", "ByteLevel"},
                              {"add_prefix_space", false},
                              {"use_regex", false}}}}};
  return file;
}

TEST(Tokenizer, joinsMatchesAsTheBehaviorSays) {
  // Splits at each `l`, which prevents the merge `ll` when each `l` is a word.
  const auto words = [](const char* behavior) {
    return encode(splitting("l", behavior), "hello");
  };
  EXPECT_EQ(words("Isolated"), (Ids{256, 'l', 'l', 'o'}));
  EXPECT_EQ(words("Removed"), (Ids{256, 'o'}));
  EXPECT_EQ(words("Contiguous"), (Ids{256, 257, 'o'}));
  EXPECT_EQ(words("MergedWithPrevious"), (Ids{256, 'l', 'l', 'o'}));
  EXPECT_EQ(words("MergedWithNext"), (Ids{256, 'l', 'l', 'o'}));
}

TEST(Tokenizer, failPatternThatBacktracksWithoutBound) {
  const Expected<Ids> ids = make(splitting("(l+)+$", "Isolated"))
                                .encode("he" + std::string(80, 'l') + "o");
  ASSERT_FALSE(ids);
  EXPECT_EQ(ids.message(),
            "the tokenizer's regular expression `(l+)+$` backtracks without "
            "bound at `hellllllllllllllllllllll...`");
}

TEST(TokenizerDeathTest, stopsWhereTheRunIsTo) {
  const Tokenizer tokenizer = make(smallTokenizer());
  EXPECT_EXIT(
      {
        watchStopSignals();
        raise(SIGTERM);
        std::exit(tokenizer.encode("hello") ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

} // namespace
} // namespace reciperun::data
