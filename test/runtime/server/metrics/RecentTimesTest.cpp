// Quantiles of the last times, up to 5 % too high; older ones do not count.

#include "runtime/server/metrics/RecentTimes.h"

#include <gtest/gtest.h>

namespace reciperun::server {
namespace {

const RecentTimes::Time start{std::chrono::hours(1)};

void expectUpTo5PercentAbove(double value, double exact) {
  EXPECT_GE(value, exact * (1 - 1e-9));
  EXPECT_LE(value, exact * 1.05 * (1 + 1e-9));
}

TEST(RecentTimes, HasNoQuantilesOfNothing) {
  const RecentQuantiles quantiles = RecentTimes().quantiles(start);
  EXPECT_EQ(quantiles.count, 0);
  EXPECT_EQ(quantiles.p95, 0);
}

TEST(RecentTimes, QuantilesAreCloseToThoseOfTheTimes) {
  for (double unit : {1e-4, 1e-2, 1.0}) {
    RecentTimes times;
    for (int i = 100; i > 0; --i)
      times.add(i * unit, start);
    const RecentQuantiles quantiles = times.quantiles(start);
    EXPECT_EQ(quantiles.count, 100);
    expectUpTo5PercentAbove(quantiles.p50, 50 * unit);
    expectUpTo5PercentAbove(quantiles.p95, 95 * unit);
  }
}

TEST(RecentTimes, TakesAnyTime) {
  RecentTimes times;
  for (double time : {0.0, -1.0, 1e9})
    times.add(time, start);
  const RecentQuantiles quantiles = times.quantiles(start);
  EXPECT_EQ(quantiles.count, 3);
  EXPECT_LE(quantiles.p50, 1e-5);
  EXPECT_GT(quantiles.p95, 900);
}

TEST(RecentTimes, OlderTimesDoNotCount) {
  RecentTimes times;
  times.add(1, start);
  times.add(2, start + std::chrono::seconds(20));
  const std::chrono::seconds span(RecentTimes::span);
  EXPECT_EQ(times.quantiles(start + span - std::chrono::seconds(1)).count, 2);
  const RecentQuantiles later = times.quantiles(start + span);
  EXPECT_EQ(later.count, 1);
  expectUpTo5PercentAbove(later.p50, 2);
}

TEST(RecentTimes, ASecondReplacesThatOneSpanBefore) {
  RecentTimes times;
  const auto later = start + std::chrono::seconds(RecentTimes::span);
  for (int i = 0; i < 9; ++i)
    times.add(1, start);
  times.add(3, later);
  EXPECT_EQ(times.quantiles(later).count, 1);
}

} // namespace
} // namespace reciperun::server
