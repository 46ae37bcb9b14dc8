// Log probabilities against a log-softmax in double precision.

#include "test/runtime/serve/sampling/SamplerDraws.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace reciperun::serve {
namespace {

/// The sampler's exponentials have an error of 2 units in the last place of a
/// float, 2.4e-7, and logits near 10 are rounded to 1e-6.
constexpr double tolerance = 4e-6;

std::vector<double> logSoftmax(const std::vector<float>& logits) {
  double sum = 0;
  for (float logit : logits)
    sum += std::exp(double(logit));
  std::vector<double> result;
  for (float logit : logits)
    result.push_back(double(logit) - std::log(sum));
  return result;
}

std::vector<float> randomLogits(size_t vocab) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> logits(vocab);
  for (float& each : logits)
    each = normal(random);
  return logits;
}

SampledToken tokenOf(const SamplingOptions& options,
                     std::vector<float> logits) {
  Sampler sampler = samplerOf(options, logits.size());
  const Expected<SampledToken> token = sampler.next(logits, nullptr);
  EXPECT_TRUE(token) << token.message();
  return token ? *token : SampledToken();
}

TEST(SamplerLogprobs, AreTheLogSoftmaxOfRawLogits) {
  const std::vector<float> logits = randomLogits(5000);
  const std::vector<double> expected = logSoftmax(logits);
  for (double temperature : {0.0, 0.5, 2.0}) {
    const SampledToken token = tokenOf(
        {.temperature = temperature, .topP = 0.9, .logprobs = 0}, logits);
    EXPECT_NEAR(token.logprob, expected[size_t(token.id)], tolerance);
    EXPECT_TRUE(token.top.empty());
  }
}

TEST(SamplerLogprobs, IgnoreTheRules) {
  const std::vector<float> logits = randomLogits(300);
  const std::vector<double> expected = logSoftmax(logits);
  SamplingOptions options = {
      .temperature = 0, .logitBias = {{17, 100}}, .logprobs = 1};
  const SampledToken token = tokenOf(options, logits);
  EXPECT_EQ(token.id, 17);
  EXPECT_NEAR(token.logprob, expected[17], tolerance);
  EXPECT_EQ(token.rank, std::ranges::count_if(logits, [&](float logit) {
              return logit >= logits[17];
            }));
  EXPECT_EQ(token.top[0].first,
            std::max_element(logits.begin(), logits.end()) - logits.begin());
}

TEST(SamplerLogprobs, ReportTheLikeliestInOrder) {
  std::vector<float> logits = randomLogits(5000);
  logits[4000] = logits[123] = 20;
  const std::vector<double> expected = logSoftmax(logits);
  std::vector<double> sorted = expected;
  std::sort(sorted.rbegin(), sorted.rend());
  for (int count : {1, 2, 20, 5000}) {
    const SampledToken token = tokenOf({.logprobs = count}, logits);
    ASSERT_EQ(token.top.size(), size_t(count));
    EXPECT_EQ(token.top[0].first, 123);
    for (size_t i = 0; i < token.top.size(); ++i) {
      const auto& [id, logprob] = token.top[i];
      EXPECT_NEAR(logprob, sorted[i], tolerance);
      EXPECT_NEAR(logprob, expected[size_t(id)], tolerance);
    }
  }
}

TEST(SamplerLogprobs, LeaveOutTokensThatCannotBe) {
  const SampledToken token = tokenOf({.logprobs = 3}, {never, 0, never, 0});
  ASSERT_EQ(token.top.size(), 2u);
  EXPECT_EQ(token.top[0].first, 1);
  EXPECT_EQ(token.top[1].first, 3);
  EXPECT_NEAR(token.logprob, std::log(0.5), tolerance);
}

TEST(SamplerLogprobs, AreNotComputedUnlessAskedFor) {
  const SampledToken token = tokenOf({}, {1, 2});
  EXPECT_EQ(token.logprob, 0);
  EXPECT_TRUE(token.top.empty());
}

} // namespace
} // namespace reciperun::serve
