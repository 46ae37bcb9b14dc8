// The search for scales of input channels lowers the error of outputs.

#include "runtime/quantize/ActivationScales.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace reciperun::quantize {
namespace {

constexpr int64_t n = 64, k = 256, tokens = 40;

/// The square error of W x for tokens x, with the weights that the quantized
/// matrix and the factors stand for.
double outputError(const std::vector<float>& weight,
                   const ActivationScales& made, const std::vector<float>& x) {
  const std::vector<float> scaled = dequantizeMatrix(made.weight, 1);
  double sum = 0;
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t i = 0; i < n; ++i) {
      double difference = 0;
      for (int64_t j = 0; j < k; ++j)
        difference +=
            x[size_t(t * k + j)] *
            (weight[size_t(i * k + j)] -
             scaled[size_t(i * k + j)] * double(made.inScale[size_t(j)]));
      sum += difference * difference;
    }
  return sum;
}

TEST(ActivationScales, LowerTheErrorOfOutputs) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> weight(size_t(n * k)), x(size_t(tokens * k));
  for (float& value : weight)
    value = normal(random);
  for (size_t i = 0; i < x.size(); ++i) // few channels are large
    x[i] = normal(random) * (i % size_t(k) % 50 == 0 ? 30.0f : 1.0f);
  ActivationStatistics statistics(k);
  statistics.add(std::span(x).first(10 * k));
  statistics.add(std::span(x).subspan(10 * k));
  EXPECT_EQ(statistics.tokens, tokens);
  EXPECT_GT(statistics.mean[0], 10);
  EXPECT_LT(statistics.mean[1], 2);
  const Scheme scheme = {WeightFormat::int4, WeightScales::groups};
  auto made = searchActivationScales(scheme, weight, statistics, 2);
  ASSERT_TRUE(made);
  auto plain =
      searchActivationScales(scheme, weight, ActivationStatistics(k), 2);
  ASSERT_TRUE(plain);
  EXPECT_GT(made->alpha, 0);
  EXPECT_LT(made->error, 0.7 * made->plainError);
  EXPECT_LT(outputError(weight, *made, x),
            0.7 * outputError(weight, *plain, x));
}

TEST(ActivationScales, AreOneForEqualChannels) {
  std::vector<float> weight(size_t(n * k), 0.5f);
  ActivationStatistics statistics(k);
  statistics.add(std::vector<float>(size_t(k), 2.0f));
  auto made = searchActivationScales({WeightFormat::int4, WeightScales::groups},
                                     weight, statistics, 1);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->alpha, 0);
  for (float factor : made->inScale)
    EXPECT_EQ(factor, 1);
}

} // namespace
} // namespace reciperun::quantize
