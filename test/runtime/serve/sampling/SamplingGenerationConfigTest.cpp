// The sampling fields of generation_config.json.

#include "runtime/serve/sampling/GenerationConfig.h"

#include "test/runtime/Says.h"
#include "test/runtime/checkpoint/TestFolder.h"

#include <gtest/gtest.h>

namespace reciperun::serve {
namespace {

Expected<GenerationConfig> configOf(std::string_view text) {
  checkpoint::TestFolder folder;
  return readGenerationConfig(folder.write("generation_config.json", text));
}

TEST(SamplingGenerationConfig, ReadsTheFieldsOfALlama) {
  const auto config = configOf(R"({"bos_token_id": 128000, "do_sample": true,
      "eos_token_id": [128001, 128008], "temperature": 0.6, "top_p": 0.9,
      "top_k": 50, "min_p": null, "repetition_penalty": 1.05,
      "max_new_tokens": 512, "min_new_tokens": 2,
      "transformers_version": "4.42.3"})");
  ASSERT_TRUE(config) << config.message();
  EXPECT_EQ(config->temperature, 0.6);
  EXPECT_EQ(config->topP, 0.9);
  EXPECT_EQ(config->topK, 50);
  EXPECT_EQ(config->minP, std::nullopt);
  EXPECT_EQ(config->repetitionPenalty, 1.05);
  EXPECT_EQ(config->maxTokens, 512);
  EXPECT_EQ(config->minTokens, 2);
}

TEST(SamplingGenerationConfig, SamplesOnlyWhereTheFileSaysSo) {
  EXPECT_EQ(configOf("{}")->temperature, 0);
  EXPECT_EQ(configOf(R"({"temperature": 0.6})")->temperature, 0);
  EXPECT_EQ(configOf(R"({"do_sample": false, "temperature": 1})")->temperature,
            0);
  EXPECT_EQ(configOf(R"({"do_sample": true})")->temperature, 1);
}

TEST(SamplingGenerationConfig, SaysWhichFieldIsWrong) {
  EXPECT_PRED2(says, configOf(R"({"top_p": 1.5})").message(),
               "generation_config.json`: `top_p` is 1.5, but must be a number, "
               "above 0 and at most 1");
  EXPECT_PRED2(says, configOf(R"({"top_k": 2.5})").message(),
               "`top_k` is 2.5, but must be a whole number, at least 0");
  EXPECT_PRED2(says, configOf(R"({"top_k": 18446744073709551615})").message(),
               "`top_k` is 18446744073709551615, but must be");
  EXPECT_PRED2(says, configOf(R"({"temperature": "1"})").message(),
               "`temperature` is \"1\"");
  EXPECT_PRED2(says, configOf(R"({"do_sample": 1})").message(),
               "`do_sample` is 1, but must be true or false");
  EXPECT_PRED2(says, configOf("[]").message(), "no JSON object");
  checkpoint::TestFolder folder;
  EXPECT_PRED2(says, readGenerationConfig(folder / "none.json").message(),
               "No such file");
}

} // namespace
} // namespace reciperun::serve
