// BPE of characters with bytes for the others, as SentencePiece trains it.

#include "runtime/data/TextEncoder.h"
#include "runtime/data/Tokenizer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace reciperun::data {
namespace {

using Ids = std::vector<int32_t>;
using Json = nlohmann::json;

/// Bytes have the ids 3..258. Then 259 `▁`, 260 `h`, 261 `i`, 262 `hi`, 263
/// `▁hi`, 264 `▁▁`. Special tokens: 0 `<unk>`, 1 `<s>`, 2 `</s>`.
Json sentencePiece() {
  Json vocab = {{"<unk>", 0}, {"<s>", 1}, {"</s>", 2}};
  for (int byte = 0; byte < 256; ++byte) {
    char token[8];
    std::snprintf(token, sizeof token, "<0x%02X>", byte);
    vocab[token] = 3 + byte;
  }
  int id = 259;
  for (const char* token : {"▁", "h", "i", "hi", "▁hi", "▁▁"})
    vocab[token] = id++;
  Json added = Json::array();
  for (const char* content : {"<unk>", "<s>", "</s>"})
    added.push_back({{"id", vocab[content]},
                     {"content", content},
                     {"special", true},
                     {"normalized", false}});
  const Json merges =
      Json::array({Json::array({"h", "i"}), Json::array({"▁", "hi"}),
                   Json::array({"▁", "▁"})});
  const Json replace = {
      {"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}};
  const Json restore = {
      {"type", "Replace"}, {"pattern", {{"String", "▁"}}}, {"content", " "}};
  const Json strip = {
      {"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}};
  return {
      {"added_tokens", added},
      {"normalizer",
       {{"type", "Sequence"},
        {"normalizers", {{{"type", "Prepend"}, {"prepend", "▁"}}, replace}}}},
      {"pre_tokenizer", nullptr},
      {"post_processor", nullptr},
      {"decoder",
       {{"type", "Sequence"},
        {"decoders",
         {restore, {{"type", "ByteFallback"}}, {{"type", "Fuse"}}, strip}}}},
      {"model",
       {{"type", "BPE"},
        {"unk_token", "<unk>"},
        {"fuse_unk", true},
        {"byte_fallback", true},
        {"vocab", vocab},
        {"merges", merges}}}};
}

/// The same with Metaspace in place of the normalizer.
Json withMetaspace(const char* scheme, bool split) {
  Json file = sentencePiece();
  file["normalizer"] = nullptr;
  file["pre_tokenizer"] = {{"type", "Metaspace"},
                           {"replacement", "▁"},
                           {"prepend_scheme", scheme},
                           {"split", split}};
  return file;
}

Tokenizer parsed(const Json& file) {
  Expected<Tokenizer> tokenizer = Tokenizer::parse(file.dump(), "f.json");
  EXPECT_TRUE(tokenizer) << tokenizer.message();
  return *std::move(tokenizer);
}

std::string refusal(const Json& file) {
  return Tokenizer::parse(file.dump(), "f.json").message();
}

TEST(SentencePiece, encodesCharactersAndBytes) {
  const Tokenizer tokenizer = parsed(sentencePiece());
  EXPECT_EQ(*tokenizer.encode("hi hi"), (Ids{263, 263}));
  EXPECT_EQ(*tokenizer.encode(" h"), (Ids{264, 260}));
  EXPECT_EQ(*tokenizer.encode("é\n"), (Ids{259, 3 + 0xC3, 3 + 0xA9, 3 + '\n'}));
  EXPECT_EQ(*tokenizer.encode(""), Ids{});
  // Each text between added tokens begins with a space.
  EXPECT_EQ(*tokenizer.encode("hi</s>hi"), (Ids{263, 2, 263}));
  EXPECT_EQ(tokenizer.missingBytes(), 0);
}

TEST(SentencePiece, decodesWithoutTheFirstSpace) {
  const Tokenizer tokenizer = parsed(sentencePiece());
  EXPECT_EQ(tokenizer.decode(Ids{1, 263, 263, 2}), "hi hi");
  EXPECT_EQ(tokenizer.decode(Ids{264, 260}), " h");
  EXPECT_EQ(tokenizer.decode(Ids{3 + 0xC3, 3 + 0xA9, 263}), "é hi");
  StreamDecoder stream(tokenizer);
  std::string text;
  for (const int32_t id : {1, 263, 3 + 0xC3, 3 + 0xA9, 263})
    text += stream.next(id);
  EXPECT_EQ(text + stream.finish(), "hié hi");
}

TEST(SentencePiece, prependsByTheSchemeOfMetaspace) {
  EXPECT_EQ(*parsed(withMetaspace("always", false)).encode("hi</s>hi"),
            (Ids{263, 2, 263}));
  const Tokenizer first = parsed(withMetaspace("first", false));
  EXPECT_EQ(*first.encode("hi</s>hi"), (Ids{263, 2, 262}));
  EXPECT_EQ(*first.encode("</s>hi"), (Ids{2, 262}));
  EXPECT_EQ(*first.encode(" hi"), Ids{263});
  EXPECT_EQ(*parsed(withMetaspace("never", false)).encode("hi hi"),
            (Ids{262, 263}));
  // Words that are split do not merge spaces.
  EXPECT_EQ(*parsed(withMetaspace("never", false)).encode("  h"),
            (Ids{264, 260}));
  EXPECT_EQ(*parsed(withMetaspace("never", true)).encode("  h"),
            (Ids{259, 259, 260}));
}

TEST(SentencePiece, continuesATextWithoutASpace) {
  const Tokenizer tokenizer = parsed(withMetaspace("first", false));
  const TextEncoder encoder({}, tokenizer);
  EXPECT_EQ(*encoder.userText("hi"), Ids{263});
  EXPECT_EQ(*encoder.userText("hi", /*continues=*/true), Ids{262});
}

TEST(SentencePiece, decodesByMetaspace) {
  Json file = withMetaspace("always", true);
  file["decoder"] = file["pre_tokenizer"];
  EXPECT_EQ(parsed(file).decode(Ids{264, 263}), " hi");
  file["decoder"]["prepend_scheme"] = "never";
  EXPECT_EQ(parsed(file).decode(Ids{264, 263}), "   hi");
}

TEST(SentencePiece, spellsControlTokensOutInTextOfUsers) {
  const Tokenizer tokenizer = parsed(sentencePiece());
  const TextEncoder encoder({}, tokenizer);
  const Ids ids = *encoder.userText("hi</s>");
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 2), 0);
  EXPECT_EQ(tokenizer.decode(ids), "hi</s>");
}

TEST(SentencePiece, replacesCharactersWithoutBytesByTheUnknownToken) {
  Json file = sentencePiece();
  file["model"]["vocab"].erase("<0xC3>");
  EXPECT_EQ(*parsed(file).encode("ééh"), (Ids{259, 0, 260}));
  EXPECT_EQ(parsed(file).missingBytes(), 1);
}

TEST(SentencePiece, failsForOtherParts) {
  Json file = sentencePiece();
  file["pre_tokenizer"] = {{"type", "ByteLevel"}};
  EXPECT_NE(refusal(file).find("`BPE with `byte_fallback` behind ByteLevel`"),
            std::string::npos);
  file = sentencePiece();
  file["decoder"] = nullptr;
  EXPECT_NE(refusal(file).find("`decoder` is of type `null`"),
            std::string::npos);
  file = sentencePiece();
  file["normalizer"] = {
      {"type", "Replace"}, {"pattern", {{"Regex", " +"}}}, {"content", "▁"}};
  EXPECT_NE(refusal(file).find("`Replace without a text `String``"),
            std::string::npos);
  file = withMetaspace("first", true);
  file["pre_tokenizer"]["replacement"] = "_";
  EXPECT_NE(
      refusal(file).find("`Metaspace with another character than U+2581`"),
      std::string::npos);
}

} // namespace
} // namespace reciperun::data
