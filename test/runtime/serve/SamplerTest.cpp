// Token sampling: greedy, repeatable, and distributed according to the logits.

#include "runtime/serve/sampling/Sampler.h"

#include <gtest/gtest.h>

#include <cmath>

namespace reciperun::serve {
namespace {

TEST(Sampler, IsGreedyAtTemperatureZero) {
  Sampler sampler(0, 7);
  EXPECT_EQ(sampler.next(std::vector<float>{-1, 3, 2, 3}), 1);
  EXPECT_EQ(sampler.next(std::vector<float>{-5}), 0);
}

TEST(Sampler, TheSeedDecides) {
  const std::vector<float> logits(100, 0.0f);
  auto draw = [&](uint64_t seed) {
    Sampler sampler(1, seed);
    std::vector<int32_t> ids;
    for (int i = 0; i < 20; ++i)
      ids.push_back(sampler.next(logits));
    return ids;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST(Sampler, FollowsTheDistribution) {
  // Probabilities 0.1, 0.2, 0.7 at temperature 2: logits are 2 log p.
  const std::vector<float> logits = {float(2 * std::log(0.1)),
                                     float(2 * std::log(0.2)),
                                     float(2 * std::log(0.7))};
  constexpr int draws = 20000;
  int counts[3] = {};
  Sampler sampler(2, 3);
  for (int i = 0; i < draws; ++i)
    ++counts[sampler.next(logits)];
  // Five standard deviations of a binomial share are at most 0.0163 here.
  EXPECT_NEAR(counts[0] / double(draws), 0.1, 0.0163);
  EXPECT_NEAR(counts[1] / double(draws), 0.2, 0.0163);
  EXPECT_NEAR(counts[2] / double(draws), 0.7, 0.0163);
}

TEST(Sampler, SurvivesExtremeLogits) {
  Sampler sampler(1e-3, 1);
  EXPECT_EQ(sampler.next(std::vector<float>{-1e30f, 1e30f, 0}), 1);
}

} // namespace
} // namespace reciperun::serve
