// Each option with a value out of its range.

#include "runtime/serve/sampling/SamplingOptions.h"

#include "test/runtime/Says.h"

#include <gtest/gtest.h>

#include <cmath>

namespace reciperun::serve {
namespace {

std::string refusal(const SamplingOptions& options) {
  return validate(options, /*vocab=*/100).message();
}

TEST(SamplingOptions, TheDefaultsAndTheLimitsAreValid) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({.temperature = 0,
                     .topK = 1000,
                     .topP = 1e-9,
                     .minP = 1,
                     .presencePenalty = -2,
                     .frequencyPenalty = 2,
                     .logitBias = {{99, -100}},
                     .badWords = {{0, 99}},
                     .maxTokens = 1,
                     .minTokens = 1,
                     .stopTokens = {99},
                     .stopStrings = {"é"},
                     .logprobs = 100}),
            "");
}

TEST(SamplingOptions, EachBadValueIsNamedWithItsRange) {
  EXPECT_EQ(refusal({.temperature = -0.5}),
            "`temperature` is -0.5, but must be at least 0");
  EXPECT_EQ(refusal({.temperature = INFINITY}),
            "`temperature` is inf, but must be at least 0");
  EXPECT_EQ(refusal({.topK = -1}), "`top_k` is -1, but must be at least 0");
  for (double topP : {0.0, 1.5, -1.0, double(NAN)})
    EXPECT_PRED2(says, refusal({.topP = topP}),
                 ", but must be above 0 and at most 1");
  EXPECT_EQ(refusal({.minP = 1.1}), "`min_p` is 1.1, but must be from 0 to 1");
  EXPECT_EQ(refusal({.repetitionPenalty = 0}),
            "`repetition_penalty` is 0, but must be above 0");
  EXPECT_EQ(refusal({.presencePenalty = 3}),
            "`presence_penalty` is 3, but must be from -2 to 2");
  EXPECT_EQ(refusal({.frequencyPenalty = -3}),
            "`frequency_penalty` is -3, but must be from -2 to 2");
  EXPECT_EQ(refusal({.maxTokens = 0}),
            "`max_tokens` is 0, but must be at least 1");
  EXPECT_EQ(refusal({.maxTokens = 4, .minTokens = 5}),
            "`min_tokens` is 5, but must be at most `max_tokens` = 4");
  EXPECT_PRED2(says, refusal({.logprobs = 101}), "vocabulary's 100 tokens");
}

TEST(SamplingOptions, TokenIdsAreOfTheVocabulary) {
  EXPECT_EQ(refusal({.logitBias = {{100, 1}}}),
            "`logit_bias` is 100, but must be a token id from 0 to 99, "
            "of the model's own tokenizer");
  EXPECT_EQ(refusal({.logitBias = {{1, 101}}}),
            "`logit_bias` is 101, but must be from -100 to 100");
  EXPECT_EQ(refusal({.badWords = {{3, -1}}}),
            "`bad_words` is -1, but must be a token id from 0 to 99, "
            "of the model's own tokenizer");
  EXPECT_PRED2(says, refusal({.badWords = {{}}}), "a word without tokens");
  EXPECT_EQ(refusal({.stopTokens = {100}}),
            "`stop_token_ids` is 100, but must be a token id from 0 to 99, "
            "of the model's own tokenizer");
}

TEST(SamplingOptions, StopStringsAreText) {
  EXPECT_EQ(refusal({.stopStrings = {"a", ""}}),
            "`stop` is an empty string, but must be at least one character");
  EXPECT_PRED2(says, refusal({.stopStrings = {"a\xC3"}}), "its byte 2 is not");
}

TEST(SamplingOptions, AllBadValuesAreFound) {
  const auto found = findBadOptions({.topK = -2, .minP = 2}, 10);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].field, "top_k");
  EXPECT_EQ(found[1].field, "min_p");
  EXPECT_EQ(refusal({.topK = -2, .minP = 2}),
            "`top_k` is -2, but must be at least 0; `min_p` is 2, but must be "
            "from 0 to 1");
}

} // namespace
} // namespace reciperun::serve
