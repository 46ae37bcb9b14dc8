// The sampling options of a command line.

#include "runtime/serve/sampling/SamplingArguments.h"

#include "runtime/cli/Read.h"
#include "test/runtime/Says.h"
#include "test/runtime/checkpoint/TestFolder.h"
#include "test/runtime/data/SmallTokenizer.h"

#include <gtest/gtest.h>

namespace reciperun::serve {
namespace {

/// The values of a call, and the message for an invalid one.
struct SamplingCall {
  SamplingArguments arguments;
  std::string message;
};

SamplingCall callWith(std::vector<std::string> line) {
  SamplingCall made;
  const cli::Program program = {
      .name = "reciperun",
      .commands = {{.name = "generate",
                    .options = describeSampling(made.arguments)}},
      .version = {}};
  line.insert(line.begin(), "generate");
  if (auto error = cli::read(program, line).error)
    made.message = error->message;
  return made;
}

Expected<SamplingOptions> optionsOf(const std::vector<std::string>& line,
                                    const std::filesystem::path& folder = {}) {
  static const Expected<data::Tokenizer> tokenizer =
      data::Tokenizer::parse(data::smallTokenizer().dump(), "small");
  const SamplingCall made = callWith(line);
  EXPECT_EQ(made.message, "");
  return samplingOptionsOf(made.arguments, folder, *tokenizer, /*vocab=*/302);
}

TEST(SamplingArguments, ReadsAllOptions) {
  const auto options = optionsOf({"--temperature=0.5",
                                  "--top-k",
                                  "7",
                                  "--top-p",
                                  "0.9",
                                  "--min-p",
                                  "0.1",
                                  "--repetition-penalty",
                                  "1.1",
                                  "--presence-penalty",
                                  "-0.5",
                                  "--frequency-penalty=0.25",
                                  "--logit-bias",
                                  "5=-3.5",
                                  "--logit-bias",
                                  "6=2",
                                  "--bad-word",
                                  "wo",
                                  "--seed",
                                  "9",
                                  "--max-tokens",
                                  "50",
                                  "--min-tokens",
                                  "3",
                                  "--stop",
                                  "\n\n",
                                  "--stop",
                                  "END",
                                  "--stop-token",
                                  "12",
                                  "--ignore-eos",
                                  "--logprobs",
                                  "4"});
  ASSERT_TRUE(options) << options.message();
  EXPECT_EQ(options->temperature, 0.5);
  EXPECT_EQ(options->topK, 7);
  EXPECT_EQ(options->topP, 0.9);
  EXPECT_EQ(options->minP, 0.1);
  EXPECT_EQ(options->repetitionPenalty, 1.1);
  EXPECT_EQ(options->presencePenalty, -0.5);
  EXPECT_EQ(options->frequencyPenalty, 0.25);
  using Biases = std::vector<std::pair<int32_t, float>>;
  EXPECT_EQ(options->logitBias, (Biases{{5, -3.5f}, {6, 2.0f}}));
  EXPECT_EQ(options->badWords,
            (std::vector<std::vector<int32_t>>{{'w', 'o'}, {261}}));
  EXPECT_EQ(options->seed, 9u);
  EXPECT_EQ(options->maxTokens, 50);
  EXPECT_EQ(options->minTokens, 3);
  EXPECT_EQ(options->stopStrings, (std::vector<std::string>{"\n\n", "END"}));
  EXPECT_EQ(options->stopTokens, (std::vector<int32_t>{12}));
  EXPECT_TRUE(options->ignoreEndTokens);
  EXPECT_EQ(options->logprobs, 4);
}

TEST(SamplingArguments, AreGreedyUnlessAFilterIsGiven) {
  EXPECT_EQ(optionsOf({})->temperature, 0);
  EXPECT_EQ(optionsOf({"--seed", "3"})->temperature, 0);
  EXPECT_EQ(optionsOf({"--top-k", "5"})->temperature, 1);
  EXPECT_EQ(optionsOf({"--top-p", "0.5"})->temperature, 1);
  EXPECT_EQ(optionsOf({"--min-p", "0.5", "--temperature=0"})->temperature, 0);
}

TEST(SamplingArguments, GivenValuesWinOverTheGenerationConfig) {
  checkpoint::TestFolder folder;
  folder.write("generation_config.json",
               R"({"do_sample": true, "temperature": 0.6, "top_p": 0.8,
                   "top_k": 20, "max_new_tokens": 99})");
  EXPECT_EQ(optionsOf({}, folder.path())->temperature, 0);
  const auto options =
      optionsOf({"--generation-config", "--top-p=0.3"}, folder.path());
  ASSERT_TRUE(options) << options.message();
  EXPECT_EQ(options->temperature, 0.6);
  EXPECT_EQ(options->topP, 0.3);
  EXPECT_EQ(options->topK, 20);
  EXPECT_EQ(options->maxTokens, 99);
}

TEST(SamplingArguments, AMissingGenerationConfigIsAnError) {
  checkpoint::TestFolder folder;
  EXPECT_PRED2(says,
               optionsOf({"--generation-config"}, folder.path()).message(),
               "`--generation-config`: ");
}

TEST(SamplingArguments, SayWhatIsWrong) {
  using Line = std::vector<std::string>;
  const std::vector<std::pair<Line, std::string>> cases = {
      {{"--temperature", "-1"},
       "`--temperature` takes a number, at least 0, not `-1`"},
      {{"--top-k", "1.5"},
       "`--top-k` takes a whole number, at least 0, not `1.5`"},
      {{"--top-p", "0"},
       "`--top-p` takes a number, above 0 and at most 1, not `0`"},
      {{"--min-p", "nan"}, "`--min-p` takes a number, from 0 to 1, not `nan`"},
      {{"--max-tokens", "0"}, "a whole number, at least 1, not `0`"},
      {{"--logit-bias", "5"},
       "takes ID=VALUE with a token id and a number, from -100 to 100, not "
       "`5`"},
      {{"--logit-bias", "=1"}, "not `=1`"},
      {{"--logit-bias", "5="}, "not `5=`"},
      {{"--logit-bias", "5=101"}, "not `5=101`"},
      {{"--stop-token", "-4"}, "takes a token id, not `-4`"},
      {{"--stop", "a\xFF"}, "`--stop` is not UTF-8 at its byte 2"},
      {{"--logprobs", "-1"}, "from 0, not `-1`"}};
  for (const auto& [line, text] : cases)
    EXPECT_PRED2(says, callWith(line).message, text);
  EXPECT_PRED2(says, optionsOf({"--stop-token", "302"}).message(),
               "a token id from 0 to 301");
  EXPECT_PRED2(says, optionsOf({"--max-tokens=2", "--min-tokens=3"}).message(),
               "at most `max_tokens` = 2");
}

} // namespace
} // namespace reciperun::serve
