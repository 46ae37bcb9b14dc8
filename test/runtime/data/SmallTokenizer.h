// A handwritten tokenizer.json, small enough to check by eye, and variations of
// it for the tests of runtime/data.

#ifndef RECIPERUN_TEST_DATA_SMALLTOKENIZER_H
#define RECIPERUN_TEST_DATA_SMALLTOKENIZER_H

#include "runtime/data/ByteLevel.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace reciperun::data {

/// Bytes have the ids 0..255. Tokens made by merges follow in order: 256 `he`,
/// 257 `ll`, 258 `hell`, 259 `hello`, 260 `Ġw`, 261 `Ġwo`, 262 `11`. Special
/// tokens: 300 `<s>`, 301 `</s>`. Words are split as in GPT-2.
inline nlohmann::json smallTokenizer() {
  nlohmann::json vocab;
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    vocab[byteLevelToken({&c, 1})] = byte;
  }
  const std::vector<std::pair<std::string, std::string>> merges = {
      {"h", "e"}, {"l", "l"},  {"he", "ll"}, {"hell", "o"},
      {"Ġ", "w"}, {"Ġw", "o"}, {"1", "1"}};
  nlohmann::json list = nlohmann::json::array();
  int id = 256;
  for (const auto& [left, right] : merges) {
    vocab[left + right] = id++;
    list.push_back({left, right});
  }
  const auto special = [](int number, const char* content) {
    return nlohmann::json{{"id", number},         {"content", content},
                          {"special", true},      {"normalized", false},
                          {"single_word", false}, {"lstrip", false},
                          {"rstrip", false}};
  };
  return {{"version", "1.0"},
          {"added_tokens", {special(300, "<s>"), special(301, "</s>")}},
          {"normalizer", nullptr},
          {"pre_tokenizer",
           {{"type", "ByteLevel"},
            {"add_prefix_space", false},
            {"use_regex", true}}},
          {"post_processor", nullptr},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"byte_fallback", false},
            {"vocab", vocab},
            {"merges", list}}}};
}

} // namespace reciperun::data

#endif // RECIPERUN_TEST_DATA_SMALLTOKENIZER_H
