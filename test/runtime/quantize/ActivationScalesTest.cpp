// The search for scales of input channels lowers the error of outputs.

#include "runtime/quantize/ActivationScales.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace reciperun::quantize {
namespace {

constexpr int64_t n = 64, k = 256, tokens = 40;

const Scheme scheme = {WeightFormat::int4, WeightScales::groups};

/// The factors for a weight whose rows are added in two runs.
ActivationScales search(const std::vector<float>& weight,
                        const ActivationStatistics& statistics) {
  ActivationScaleSearch search(scheme, statistics, 2);
  const size_t first = size_t(10 * k);
  EXPECT_TRUE(search.add(std::span(weight).first(first)).isOk());
  EXPECT_TRUE(search.add(std::span(weight).subspan(first)).isOk());
  return search.best();
}

/// The square error of W x for tokens x, with the weights that the quantized
/// matrix and the factors stand for.
double outputError(const std::vector<float>& weight,
                   const std::vector<float>& inScale,
                   const std::vector<float>& x) {
  std::vector<float> scaled = weight;
  scaleInputs(inScale, scaled);
  auto made = quantizeMatrix(scheme, scaled, k, 1);
  EXPECT_TRUE(made);
  scaled = dequantizeMatrix(*made, 1);
  double sum = 0;
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t i = 0; i < n; ++i) {
      double difference = 0;
      for (int64_t j = 0; j < k; ++j)
        difference += x[size_t(t * k + j)] *
                      (weight[size_t(i * k + j)] -
                       scaled[size_t(i * k + j)] * double(inScale[size_t(j)]));
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
  EXPECT_GT(statistics.meanSquare[0], 200);
  EXPECT_LT(statistics.meanSquare[1], 4);
  const ActivationScales made = search(weight, statistics);
  EXPECT_GT(made.alpha, 0);
  EXPECT_LT(made.error, 0.7 * made.plainError);
  const std::vector<float> ones(size_t(k), 1.0f);
  const double plain = outputError(weight, ones, x);
  EXPECT_LT(outputError(weight, made.inScale, x), 0.7 * plain);
  // The expected error is that of the tokens, but for correlations of channels.
  EXPECT_NEAR(made.plainError * tokens, plain, 0.2 * plain);
}

TEST(ActivationScales, AreOneForEqualChannels) {
  ActivationStatistics statistics(k);
  statistics.add(std::vector<float>(size_t(k), 2.0f));
  const ActivationScales made =
      search(std::vector<float>(size_t(n * k), 0.5f), statistics);
  EXPECT_EQ(made.alpha, 0);
  for (float factor : made.inScale)
    EXPECT_EQ(factor, 1);
}

// An expert's errors count by its share of the tokens: of two halves of them
// the error is the mean, and an expert without tokens has none.
TEST(ActivationScales, WeighExpertsByTheirTokens) {
  std::mt19937 random(6);
  std::normal_distribution<float> normal;
  std::vector<float> weight(size_t(n * k)), x(size_t(2 * k));
  for (float& value : weight)
    value = normal(random);
  for (float& value : x)
    value = normal(random);
  ActivationStatistics first(k), second(k);
  first.add(std::span(x).first(k));
  second.add(std::span(x).subspan(k));
  ActivationStatistics all = first;
  all.add(second);
  EXPECT_EQ(all.tokens, 2);
  EXPECT_FLOAT_EQ(all.mean[7], (first.mean[7] + second.mean[7]) / 2);
  const auto errorOf = [&](std::initializer_list<ActivationStatistics> parts) {
    ActivationScaleSearch search(scheme, all, 1);
    for (const ActivationStatistics& part : parts)
      EXPECT_TRUE(search.add(weight, part).isOk());
    return search.best().plainError;
  };
  const double both = errorOf({first, second});
  EXPECT_NEAR(both, errorOf({first}) + errorOf({second}), 1e-6 * both);
  ActivationStatistics heavier = first, none = second;
  heavier.tokens = 2;
  none.tokens = 0;
  EXPECT_NEAR(errorOf({heavier, none}), 2 * errorOf({first}), 1e-6 * both);
}

TEST(ActivationScales, RefuseAWeightThatIsNotFinite) {
  const ActivationStatistics statistics(k);
  ActivationScaleSearch search(scheme, statistics, 1);
  std::vector<float> row(size_t(k), 1.0f);
  row[3] = INFINITY;
  EXPECT_FALSE(search.add(row).isOk());
}

} // namespace
} // namespace reciperun::quantize
