// Chi-square tests of the sampler: the counts of drawn tokens against the
// probabilities of a straightforward computation in double precision, written
// here from the definitions in the papers that the sampler names.

#include "test/runtime/serve/sampling/SamplerDraws.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

namespace reciperun::serve {
namespace {

using Probabilities = std::vector<double>;

/// exp(logit / temperature), normalised.
Probabilities softmax(const std::vector<double>& logits, double temperature) {
  const double highest = *std::max_element(logits.begin(), logits.end());
  Probabilities result;
  for (double logit : logits)
    result.push_back(std::exp((logit - highest) / temperature));
  const double sum = std::accumulate(result.begin(), result.end(), 0.0);
  for (double& each : result)
    each /= sum;
  return result;
}

/// Token ids by descending logits, equal ones by ascending id.
std::vector<size_t> ranking(const std::vector<double>& logits) {
  std::vector<size_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(),
                   [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  return ids;
}

void keepOnly(Probabilities& values, const std::vector<size_t>& kept) {
  Probabilities result(values.size(), 0);
  double sum = 0;
  for (size_t id : kept)
    sum += values[id];
  for (size_t id : kept)
    result[id] = values[id] / sum;
  values = result;
}

/// The distribution that the options define.
Probabilities definition(const std::vector<double>& logits,
                         const SamplingOptions& options) {
  Probabilities result = softmax(logits, options.temperature);
  std::vector<size_t> kept = ranking(logits);
  const double largest = result[kept[0]];
  kept.erase(std::remove_if(kept.begin(), kept.end(),
                            [&](size_t id) {
                              return result[id] < options.minP * largest;
                            }),
             kept.end());
  if (options.topK > 0)
    kept.resize(std::min(kept.size(), size_t(options.topK)));
  keepOnly(result, kept);
  if (options.topP < 1) {
    double sum = 0;
    size_t count = 0;
    while (count < kept.size() && sum < options.topP)
      sum += result[kept[count++]];
    kept.resize(count);
    keepOnly(result, kept);
  }
  return result;
}

/// The statistic that a chi-square variable exceeds with probability 1e-6: E.
/// Wilson and M. Hilferty, "The distribution of chi-square" (1931).
double limitOf(double degrees) {
  const double spread = 2 / (9 * degrees);
  return degrees * std::pow(1 - spread + 4.753 * std::sqrt(spread), 3);
}

/// Whether the counts are plausible: bins with an expected count below 5 are
/// one bin, and a token of probability 0 is never drawn.
bool areDistributed(const std::vector<int64_t>& counts,
                    const Probabilities& probabilities) {
  const double draws =
      double(std::accumulate(counts.begin(), counts.end(), int64_t(0)));
  double statistic = 0, restExpected = 0, restCount = 0;
  int bins = 0;
  for (size_t id = 0; id < counts.size(); ++id) {
    const double expected = draws * probabilities[id];
    if (probabilities[id] == 0 && counts[id] > 0)
      return false;
    if (expected < 5) {
      restExpected += expected;
      restCount += double(counts[id]);
      continue;
    }
    statistic += std::pow(double(counts[id]) - expected, 2) / expected;
    ++bins;
  }
  if (restExpected >= 5) {
    statistic += std::pow(restCount - restExpected, 2) / restExpected;
    ++bins;
  }
  return bins == 1 || statistic < limitOf(bins - 1);
}

/// Logits of a normal distribution; a quarter of them are equal to others.
std::vector<float> randomLogits(size_t vocab, float spread) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> logits(vocab);
  for (size_t i = 0; i < vocab; ++i)
    logits[i] = i % 4 == 3 ? logits[i - 3] : normal(random);
  return logits;
}

std::vector<double> widened(const std::vector<float>& logits) {
  return {logits.begin(), logits.end()};
}

/// The counts of the tokens of one answer of `draws` tokens.
std::vector<int64_t> countDraws(const SamplingOptions& options,
                                const std::vector<float>& logits, int draws) {
  std::vector<int64_t> counts(logits.size());
  Sampler sampler = samplerOf(options, logits.size());
  for (int i = 0; i < draws; ++i)
    ++counts[size_t(drawNext(sampler, logits))];
  return counts;
}

/// Enough to tell temperature 1.05 from 1 in 50 tokens; see below.
constexpr int draws = 50000;

bool followsDefinition(const SamplingOptions& options,
                       const std::vector<float>& logits, int draws = 10000) {
  return areDistributed(countDraws(options, logits, draws),
                        definition(widened(logits), options));
}

TEST(SamplerDistribution, IsTheSoftmaxAtEachTemperature) {
  for (double temperature : {0.3, 0.7, 1.0, 1.6, 5.0})
    EXPECT_TRUE(followsDefinition({.temperature = temperature, .seed = 1},
                                  randomLogits(50, 2)))
        << temperature;
}

TEST(SamplerDistribution, TheTestSeesASmallDifference) {
  const std::vector<float> logits = randomLogits(50, 2);
  const auto counts = countDraws({.temperature = 1.05}, logits, draws);
  EXPECT_FALSE(areDistributed(counts, definition(widened(logits), {})));
  EXPECT_FALSE(areDistributed(
      counts, definition(widened(logits), {.temperature = 1.05, .topK = 49})));
}

TEST(SamplerDistribution, OfTopK) {
  // 3 and 4 cut through equal logits; 50 and more keep all tokens.
  for (int64_t topK : {1, 2, 3, 4, 10, 49, 50, 1000})
    EXPECT_TRUE(followsDefinition({.topK = topK}, randomLogits(50, 2))) << topK;
}

TEST(SamplerDistribution, OfTopP) {
  for (double topP : {1e-9, 0.1, 0.5, 0.9, 0.99, 0.9999999})
    EXPECT_TRUE(followsDefinition({.topP = topP}, randomLogits(50, 2))) << topP;
}

TEST(SamplerDistribution, OfMinP) {
  for (double minP : {1e-30, 0.01, 0.1, 0.5, 1.0})
    EXPECT_TRUE(followsDefinition({.minP = minP}, randomLogits(50, 2))) << minP;
}

TEST(SamplerDistribution, OfFiltersTogether) {
  const std::vector<float> logits = randomLogits(200, 1.5);
  for (int64_t topK : {0, 5, 60, 500})
    for (double topP : {0.4, 0.95, 1.0})
      for (double minP : {0.0, 0.02, 0.3})
        for (double temperature : {0.6, 1.4})
          EXPECT_TRUE(followsDefinition({.temperature = temperature,
                                         .topK = topK,
                                         .topP = topP,
                                         .minP = minP,
                                         .seed = 3},
                                        logits))
              << topK << " " << topP << " " << minP << " " << temperature;
}

TEST(SamplerDistribution, OfALargeVocabulary) {
  // More than 64 * 64 tokens, so that candidates come from blocks, and flat
  // enough that top-p needs thousands of them. Most bins are joined.
  const std::vector<float> logits = randomLogits(4501, 1);
  for (const SamplingOptions& options :
       {SamplingOptions{}, SamplingOptions{.topK = 40},
        SamplingOptions{.topK = 2000}, SamplingOptions{.topP = 0.02},
        SamplingOptions{.topP = 0.9}, SamplingOptions{.minP = 0.2},
        SamplingOptions{.topK = 500, .topP = 0.8, .minP = 0.001}})
    EXPECT_TRUE(followsDefinition(options, logits, /*draws=*/2000))
        << options.topK << " " << options.topP << " " << options.minP;
}

TEST(SamplerDistribution, OverSeedsIsThatOverTokens) {
  const std::vector<float> logits = randomLogits(50, 2);
  std::vector<int64_t> counts(logits.size());
  for (uint64_t seed = 0; seed < 10000; ++seed) {
    Sampler sampler = samplerOf({.seed = seed}, logits.size());
    ++counts[size_t(drawNext(sampler, logits))];
  }
  EXPECT_TRUE(areDistributed(counts, definition(widened(logits), {})));
}

/// The counts of the token after the prompt and a forced answer.
std::vector<int64_t> countAfter(SamplingOptions options,
                                const std::vector<float>& logits,
                                const std::vector<int32_t>& prompt,
                                const std::vector<int32_t>& answer) {
  std::vector<int64_t> counts(logits.size());
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    options.seed = seed;
    Sampler sampler = samplerOf(options, logits.size(), prompt);
    for (int32_t id : answer)
      force(sampler, logits.size(), id);
    ++counts[size_t(drawNext(sampler, logits))];
  }
  return counts;
}

/// The logits after bias and penalties, by the formulas of vLLM's
/// documentation.
std::vector<double> penalized(const std::vector<float>& logits,
                              const SamplingOptions& options,
                              const std::vector<int32_t>& prompt,
                              const std::vector<int32_t>& answer) {
  std::vector<double> result = widened(logits);
  for (const auto& [id, value] : options.logitBias)
    result[size_t(id)] += value;
  std::set<int32_t> both(prompt.begin(), prompt.end());
  both.insert(answer.begin(), answer.end());
  for (int32_t id : both) {
    double& logit = result[size_t(id)];
    logit = logit > 0 ? logit / options.repetitionPenalty
                      : logit * options.repetitionPenalty;
  }
  for (int32_t id : std::set<int32_t>(answer.begin(), answer.end())) {
    const auto count = std::count(answer.begin(), answer.end(), id);
    result[size_t(id)] -=
        options.presencePenalty + options.frequencyPenalty * double(count);
  }
  return result;
}

TEST(SamplerDistribution, OfPenaltiesAndBias) {
  const std::vector<float> logits = randomLogits(20, 1);
  const std::vector<int32_t> prompt = {0, 1, 2, 2, 5}, answer = {1, 3, 3, 3, 7};
  for (const SamplingOptions& options :
       {SamplingOptions{.repetitionPenalty = 1.5},
        SamplingOptions{.repetitionPenalty = 0.5},
        SamplingOptions{.presencePenalty = 1.2},
        SamplingOptions{.presencePenalty = -1.2},
        SamplingOptions{.frequencyPenalty = 0.6},
        SamplingOptions{.frequencyPenalty = -0.4},
        SamplingOptions{.logitBias = {{4, 2.5f}, {9, -3}, {4, -1}}},
        SamplingOptions{.temperature = 1.3,
        .topK = 12,
        .topP = 0.9,
        .minP = 0.02,
        .repetitionPenalty = 1.2,
        .presencePenalty = 0.5,
        .frequencyPenalty = 0.3,
        .logitBias = {{3, 4}, {8, 1}}}})
    EXPECT_TRUE(areDistributed(
        countAfter(options, logits, prompt, answer),
        definition(penalized(logits, options, prompt, answer), options)))
        << options.repetitionPenalty << " " << options.presencePenalty << " "
        << options.frequencyPenalty;
}

} // namespace
} // namespace reciperun::serve
