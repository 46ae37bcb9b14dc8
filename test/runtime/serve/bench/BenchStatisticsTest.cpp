// Statistics against numbers computed by hand.

#include "runtime/serve/bench/BenchStatistics.h"

#include <gtest/gtest.h>

namespace reciperun::serve {
namespace {

TEST(BenchStatistics, PercentilesAreInterpolated) {
  std::vector<double> values;
  for (int i = 100; i >= 0; --i)
    values.push_back(i * 2);
  const BenchSummary summary = summarize(values);
  EXPECT_EQ(summary.count, 101);
  EXPECT_EQ(summary.least, 0);
  EXPECT_EQ(summary.most, 200);
  EXPECT_DOUBLE_EQ(summary.average, 100);
  EXPECT_DOUBLE_EQ(summary.p50, 100);
  EXPECT_DOUBLE_EQ(summary.p90, 180);
  EXPECT_DOUBLE_EQ(summary.p95, 190);
  EXPECT_DOUBLE_EQ(summary.p99, 198);
  EXPECT_DOUBLE_EQ(summarize(std::vector<double>{1, 2}).p50, 1.5);
  EXPECT_DOUBLE_EQ(summarize(std::vector<float>{1, 2}, 10).p90, 19);
  EXPECT_DOUBLE_EQ(summarize(std::vector<double>{3}).p99, 3);
  EXPECT_EQ(summarize(std::vector<float>()).count, 0);
}

/// Two answers, of 1 and of 5 tokens, and a failure.
BenchResult smallResult() {
  BenchResult result;
  result.records = {{.start = 10,
                     .firstToken = 10.5,
                     .end = 10.5,
                     .inputTokens = 4,
                     .outputTokens = 1,
                     .error = {}},
                    {.start = 10,
                     .firstToken = 11,
                     .end = 12,
                     .inputTokens = 6,
                     .outputTokens = 5,
                     .error = {}},
                    {.start = 10,
                     .firstToken = 0,
                     .end = 14,
                     .inputTokens = 100,
                     .outputTokens = 0,
                     .error = "no page is left"}};
  result.gaps = {0.25f, 0.25f, 0.125f, 0.375f};
  result.seconds = 4;
  return result;
}

TEST(BenchStatistics, AreThoseOfTheAnsweredRequests) {
  const BenchStatistics statistics = statisticsOf(smallResult(), /*ranks=*/2);
  EXPECT_EQ(statistics.completed, 2);
  EXPECT_EQ(statistics.failed, 1);
  EXPECT_EQ(statistics.firstError, "no page is left");
  EXPECT_EQ(statistics.inputTokens, 10);
  EXPECT_EQ(statistics.outputTokens, 6);
  EXPECT_DOUBLE_EQ(statistics.requestThroughput, 0.5);
  EXPECT_DOUBLE_EQ(statistics.outputThroughput, 1.5);
  EXPECT_DOUBLE_EQ(statistics.totalThroughput, 4);
  EXPECT_DOUBLE_EQ(statistics.gpuThroughput, 0.75);
  // 1 token in 0.5 s and 5 tokens in 2 s.
  EXPECT_DOUBLE_EQ(statistics.userThroughput, (2 + 2.5) / 2);
  // 4 tokens in the second after the first token, of one request.
  EXPECT_DOUBLE_EQ(statistics.userSpeed, 4);
  EXPECT_EQ(statistics.tpot.count, 1);
  EXPECT_DOUBLE_EQ(statistics.tpot.average, 250);
  EXPECT_DOUBLE_EQ(statistics.ttft.least, 500);
  EXPECT_DOUBLE_EQ(statistics.ttft.most, 1000);
  EXPECT_DOUBLE_EQ(statistics.latency.average, 1250);
  EXPECT_EQ(statistics.itl.count, 4);
  EXPECT_DOUBLE_EQ(statistics.itl.p50, 250);
  EXPECT_DOUBLE_EQ(statistics.itl.most, 375);
}

TEST(BenchStatistics, OfNoAnswerAreZero) {
  BenchResult result;
  result.records.resize(1);
  result.records[0].error = "refused";
  const BenchStatistics statistics = statisticsOf(result, 1);
  EXPECT_EQ(statistics.failed, 1);
  EXPECT_EQ(statistics.outputThroughput, 0);
  EXPECT_EQ(statistics.userSpeed, 0);
  EXPECT_EQ(statistics.ttft.p99, 0);
}

} // namespace
} // namespace reciperun::serve
