// The small tokenizer with control tokens of several model families.

#ifndef RECIPERUN_TEST_SERVE_PROMPTS_CHATTOKENIZER_H
#define RECIPERUN_TEST_SERVE_PROMPTS_CHATTOKENIZER_H

#include "runtime/data/Tokenizer.h"
#include "runtime/plan/Plan.h"

#include "test/runtime/data/SmallTokenizer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::serve {

/// Special tokens from 302: `<|im_start|>`, `<|im_end|>`,
/// `<|start_header_id|>`, `<|end_header_id|>`, `<|eot_id|>`, `[INST]`,
/// `[/INST]`. Then tokens that are only added: 309 `<|user|>`, 310 `<think>`,
/// 311 `</think>`.
inline data::Tokenizer chatTokenizer() {
  nlohmann::json file = data::smallTokenizer();
  int id = 302;
  const auto add = [&](const char* content, bool special) {
    nlohmann::json token = file["added_tokens"][0];
    token["id"] = id++;
    token["content"] = content;
    token["special"] = special;
    file["added_tokens"].push_back(token);
  };
  for (const char* content :
       {"<|im_start|>", "<|im_end|>", "<|start_header_id|>",
        "<|end_header_id|>", "<|eot_id|>", "[INST]", "[/INST]"})
    add(content, true);
  for (const char* content : {"<|user|>", "<think>", "</think>"})
    add(content, false);
  Expected<data::Tokenizer> parsed =
      data::Tokenizer::parse(file.dump(), "tokenizer.json");
  EXPECT_TRUE(parsed) << parsed.message();
  return *std::move(parsed);
}

/// The data section of a plan for this tokenizer.
inline plan::Data chatData() {
  plan::Data data;
  data.vocab = 312;
  data.sequence = 4096;
  data.bosToken = 300;
  data.eosToken = 301;
  data.chat = {"<|im_start|>{role}\n", "<|im_end|>\n"};
  return data;
}

/// The same for a model that was trained on messages.
inline plan::Data trainedOnMessages() {
  plan::Data data = chatData();
  data.train = plan::DataSource{"jsonl", "train.jsonl", "", "", "messages"};
  return data;
}

using Ids = std::vector<int32_t>;

/// The ids from 300, which are added tokens.
inline Ids addedAmong(const Ids& ids) {
  Ids added;
  for (const int32_t id : ids)
    if (id >= 300)
      added.push_back(id);
  return added;
}

} // namespace reciperun::serve

#endif // RECIPERUN_TEST_SERVE_PROMPTS_CHATTOKENIZER_H
