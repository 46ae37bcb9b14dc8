// The sampler's rules one by one: greedy choice, seeds, banned tokens,
// constraints and failures.

#include "test/runtime/Says.h"
#include "test/runtime/serve/sampling/SamplerDraws.h"

#include <cmath>

namespace reciperun::serve {
namespace {

constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

TEST(SamplerRules, TemperatureZeroTakesTheFirstOfTheLikeliest) {
  for (double temperature : {0.0, 1e-6}) {
    Sampler sampler = samplerOf({.temperature = temperature}, 4);
    EXPECT_EQ(drawNext(sampler, {-1, 3, 2, 3}), 1);
    EXPECT_EQ(drawNext(sampler, {never, never, -5, never}), 2);
  }
  std::vector<float> logits(1000, 1);
  logits[777] = logits[901] = 2;
  Sampler sampler = samplerOf({.temperature = 0}, logits.size());
  EXPECT_EQ(drawNext(sampler, logits), 777);
}

TEST(SamplerRules, GreedyChoiceFollowsPenaltiesAndBias) {
  Sampler biased = samplerOf({.temperature = 0, .logitBias = {{2, 5}}}, 3);
  EXPECT_EQ(drawNext(biased, {1, 2, -1}), 2);
  Sampler repeated =
      samplerOf({.temperature = 0, .repetitionPenalty = 2}, 3, {1});
  EXPECT_EQ(drawNext(repeated, {1.5, 2, 0}), 0);
}

/// The answers of several samplers, drawn in the order that `turns` says.
std::vector<std::vector<int32_t>> answersOf(const std::vector<size_t>& turns) {
  std::vector<float> logits(300);
  for (size_t i = 0; i < logits.size(); ++i)
    logits[i] = float(i % 17) / 8;
  std::vector<Sampler> samplers;
  for (uint64_t seed : {1, 2, 3})
    samplers.push_back(samplerOf({.topP = 0.9, .seed = seed}, logits.size()));
  std::vector<std::vector<int32_t>> answers(samplers.size());
  for (size_t each : turns)
    answers[each].push_back(drawNext(samplers[each], logits));
  return answers;
}

TEST(SamplerRules, ASeedGivesTheSameTokensInAnyOrderOfCalls) {
  const auto inTurn = answersOf({0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2});
  const auto oneByOne = answersOf({2, 2, 2, 2, 0, 0, 0, 0, 1, 1, 1, 1});
  EXPECT_EQ(inTurn, oneByOne);
  EXPECT_NE(inTurn[0], inTurn[1]);
  EXPECT_NE(inTurn[1], inTurn[2]);
}

TEST(SamplerRules, MinTokensDelaysEndAndStopTokens) {
  SamplingOptions options = {.temperature = 0, .minTokens = 2};
  options.stopTokens = {3};
  Sampler sampler = samplerOf(options, 4, {}, {2, 99});
  const std::vector<float> logits = {0, 1, 5, 4};
  EXPECT_EQ(drawNext(sampler, logits), 1);
  EXPECT_EQ(drawNext(sampler, logits), 1);
  EXPECT_EQ(drawNext(sampler, logits), 2);
}

TEST(SamplerRules, BadWordsAreNeverComplete) {
  SamplingOptions options = {.temperature = 0};
  options.badWords = {{3}, {1, 1, 2}};
  Sampler sampler = samplerOf(options, 4);
  const std::vector<float> one = {0, 5, 4, 9}, two = {1, 0, 5, 9};
  EXPECT_EQ(drawNext(sampler, two), 2); // `1 1` is not before it
  EXPECT_EQ(drawNext(sampler, one), 1);
  EXPECT_EQ(drawNext(sampler, two), 2);
  EXPECT_EQ(drawNext(sampler, one), 1);
  EXPECT_EQ(drawNext(sampler, one), 1);
  EXPECT_EQ(drawNext(sampler, two), 0);
}

TEST(SamplerRules, BadWordsIgnoreThePrompt) {
  SamplingOptions options = {.temperature = 0};
  options.badWords = {{1, 2}};
  Sampler sampler = samplerOf(options, 3, {1});
  EXPECT_EQ(drawNext(sampler, {0, 0, 1}), 2);
}

/// Allows given tokens and records the calls.
class ListConstraint : public TokenConstraint {
public:
  explicit ListConstraint(std::set<int32_t> ids) : ids(std::move(ids)) {}

  Status fillMask(std::span<uint32_t> allowed) override {
    std::fill(allowed.begin(), allowed.end(), 0);
    for (int32_t id : ids)
      allowed[size_t(id / 32)] |= 1u << (id % 32);
    return failure;
  }
  Status accept(int32_t token) override {
    accepted.push_back(token);
    return ids.count(token) ? Status::ok() : Status::error("not allowed");
  }
  bool isComplete() const override { return false; }

  std::set<int32_t> ids;
  std::vector<int32_t> accepted;
  Status failure;
};

TEST(SamplerRules, OnlyTokensOfTheConstraintAreDrawn) {
  ListConstraint constraint({0, 31, 32, 99});
  Sampler sampler = samplerOf({}, 100);
  std::vector<float> logits(100, 1);
  logits[50] = 60;
  std::set<int32_t> drawn;
  for (int i = 0; i < 200; ++i)
    drawn.insert(drawNext(sampler, logits, &constraint));
  EXPECT_EQ(drawn, constraint.ids);
  EXPECT_EQ(constraint.accepted.size(), 200u);
}

TEST(SamplerRules, AFailureOfTheConstraintIsReported) {
  ListConstraint constraint({1});
  constraint.failure = Status::error("the grammar is damaged");
  Sampler sampler = samplerOf({}, 3);
  EXPECT_EQ(refusalOf(sampler, {1, 2, 3}, &constraint),
            "the grammar is damaged");
}

TEST(SamplerRules, NoTokenLeftIsAFailureThatNamesTheRules) {
  ListConstraint constraint({2});
  Sampler sampler = samplerOf({.minTokens = 4}, 3, {}, {2});
  EXPECT_EQ(refusalOf(sampler, {1, 2, 3}, &constraint),
            "no token of 3 may be token 1 of the answer: all are banned by the "
            "constraint, which allows 1 token and `min_tokens` = 4");
  EXPECT_PRED2(says, refusalOf(sampler, {never, never, never}),
               "all are banned by `min_tokens` = 4");
  for (int logprobs : {-1, 0, 3}) {
    Sampler plain = samplerOf({.logprobs = logprobs}, 3);
    EXPECT_PRED2(says, refusalOf(plain, {never, never, never}),
                 "banned by the model, whose logits are all -inf");
  }
}

TEST(SamplerRules, LogitsThatAreNotFiniteAreAFailure) {
  for (double temperature : {0.0, 1.0})
    for (int logprobs : {-1, 2}) {
      Sampler sampler =
          samplerOf({.temperature = temperature, .logprobs = logprobs}, 70);
      std::vector<float> logits(70, 1);
      logits[66] = notANumber;
      logits[69] = -never;
      EXPECT_EQ(refusalOf(sampler, logits),
                "the logit of token 66 is nan, and 2 of 70 logits are nan or "
                "inf; check the weights, or compute in `fp32`");
      logits[66] = 0;
      EXPECT_PRED2(says, refusalOf(sampler, logits), "token 69 is inf, and 1");
    }
}

TEST(SamplerRules, ExtremeLogitsAndTemperaturesAreDrawn) {
  for (double temperature : {1e-5, 1e-3, 1.0}) {
    Sampler sampler = samplerOf({.temperature = temperature}, 4);
    EXPECT_EQ(drawNext(sampler, {-1e38f, 3e38f, 0, never}), 1);
  }
  // At a huge temperature all tokens but the banned are equally likely.
  Sampler hot = samplerOf({.temperature = 1e300}, 3);
  std::set<int32_t> drawn;
  for (int i = 0; i < 100; ++i)
    drawn.insert(drawNext(hot, {5, never, -5}));
  EXPECT_EQ(drawn, (std::set<int32_t>{0, 2}));
}

} // namespace
} // namespace reciperun::serve
