// Files other than BPE tokenizers of the supported kinds are refused by name.

#include "runtime/data/Tokenizer.h"

#include "test/runtime/data/SmallTokenizer.h"

#include <gtest/gtest.h>

namespace reciperun::data {
namespace {

std::string fileRefusal(const nlohmann::json& file) {
  const Expected<Tokenizer> tokenizer = Tokenizer::parse(file.dump(), "f.json");
  EXPECT_FALSE(tokenizer);
  return tokenizer.message();
}

const std::string supported =
    "supported are byte-level BPE tokenizers, as of GPT-2, Llama 3 and Qwen, "
    "and those of SentencePiece with `byte_fallback`, as of Llama 2, Mistral "
    "and Gemma; name the `tokenizer.json` of such a model";
const std::string damaged = "; the file is damaged: download or copy it again";
const std::string written =
    "; transformers writes one, `AutoTokenizer.from_pretrained(MODEL)."
    "save_pretrained(DIR)`";

TEST(TokenizerFile, failOtherModels) {
  for (const char* type : {"WordPiece", "Unigram", "WordLevel"}) {
    nlohmann::json file = smallTokenizer();
    file["model"]["type"] = type;
    EXPECT_EQ(fileRefusal(file), "`f.json`: `model` is of type `" +
                                     std::string(type) + "`; " + supported);
  }
}

TEST(TokenizerFile, failSentencePieceWithoutByteFallback) {
  nlohmann::json file = smallTokenizer();
  file["pre_tokenizer"] = {{"type", "Metaspace"}};
  EXPECT_EQ(fileRefusal(file),
            "`f.json`: `pre_tokenizer` is of type `Metaspace`; " + supported);
}

TEST(TokenizerFile, failOtherParts) {
  nlohmann::json file = smallTokenizer();
  file["normalizer"] = {{"type", "Lowercase"}};
  EXPECT_NE(fileRefusal(file).find("`Lowercase`"), std::string::npos);
  file = smallTokenizer();
  file["decoder"] = {{"type", "WordPiece"}};
  EXPECT_NE(fileRefusal(file).find("`decoder`"), std::string::npos);
  file = smallTokenizer();
  file["model"]["dropout"] = 0.1;
  EXPECT_NE(fileRefusal(file).find("`dropout`"), std::string::npos);
  file = smallTokenizer();
  file["model"]["end_of_word_suffix"] = "</w>";
  EXPECT_NE(fileRefusal(file).find("`end_of_word_suffix`"), std::string::npos);
  file = smallTokenizer();
  file["pre_tokenizer"] = nullptr;
  EXPECT_NE(fileRefusal(file).find("`pre_tokenizer`"), std::string::npos);
}

TEST(TokenizerFile, failInconsistentFiles) {
  nlohmann::json file = smallTokenizer();
  file["model"]["merges"].push_back({"x", "y"});
  EXPECT_EQ(fileRefusal(file),
            "`f.json`: merge 8 names `xy`, which `model.vocab` lacks" +
                damaged);
  file = smallTokenizer();
  file["model"]["merges"].push_back("alone");
  EXPECT_EQ(fileRefusal(file), "`f.json`: `model.merges[7]` is not a pair of "
                               "tokens" +
                                   damaged);
  file = smallTokenizer();
  file["model"]["vocab"]["h"] = -4;
  EXPECT_EQ(fileRefusal(file),
            "`f.json`: `model.vocab.h` is not an id from 0 to 16777215" +
                damaged);
  file = smallTokenizer();
  file["model"]["vocab"]["<s>"] = 12;
  EXPECT_EQ(fileRefusal(file),
            "`f.json`: `added_tokens[0]` gives `<s>` the id "
            "300, `model.vocab` the id 12; give the token one "
            "id in both");
}

TEST(TokenizerFile, failFilesThatAreNone) {
  EXPECT_EQ(Tokenizer::read("nowhere/tokenizer.json").message(),
            "cannot read `nowhere/tokenizer.json`: No such file or directory");
  EXPECT_FALSE(Tokenizer::read("/"));
  EXPECT_EQ(Tokenizer::parse("{", "f").message(),
            "`f`: line 1, column 2: the file ends inside a value" + damaged);
  EXPECT_EQ(Tokenizer::parse("[1]", "f").message(),
            "`f`: the file is not a JSON object" + written);
  EXPECT_EQ(Tokenizer::parse("{\"a\":\"\xFF\"}", "f").message(),
            "`f`: the file is not UTF-8 at byte 7" + damaged);
  EXPECT_EQ(Tokenizer::parse("GGUF\3", "f").message(),
            "`f`: it is a file of GGUF, and no tokenizer.json" + written);
  EXPECT_EQ(Tokenizer::parse("{}", "f").message(),
            "`f`: there is no `model`, so that this is no tokenizer.json of "
            "Hugging Face" +
                written);
}

TEST(TokenizerFile, survivesMembersOfOtherTypes) {
  // Replaces each member in turn by a number, a string, a list and an object.
  const nlohmann::json whole = smallTokenizer();
  for (const auto& [name, value] : whole.items())
    for (const nlohmann::json& other :
         {nlohmann::json(3), nlohmann::json("x"), nlohmann::json::array({1, 2}),
          nlohmann::json::object()}) {
      nlohmann::json file = whole;
      file[name] = other;
      (void)Tokenizer::parse(file.dump(), "f");
    }
  for (const auto& [name, value] : whole["model"].items()) {
    nlohmann::json file = whole;
    file["model"][name] = nlohmann::json::array({1, nullptr});
    (void)Tokenizer::parse(file.dump(), "f");
  }
}

} // namespace
} // namespace reciperun::data
