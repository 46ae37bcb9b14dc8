// Reports as JSON and as a table.

#include "runtime/bench/health/HealthReport.h"

#include <gtest/gtest.h>

namespace reciperun::bench {
namespace {

HealthReport someReport() {
  HealthReport report;
  for (int i = 0; i < 2; ++i)
    report.ranks.push_back(
        {i,
         "node0",
         i,
         "NVIDIA H200",
         "0000:1b:00",
         {{"matmul bf16", "FLOP/s", 705.3e12}, {"memory", "B/s", 4255e9}},
         {"a fault"},
         {"a note"}});
  report.links.push_back({0, 1, "NV18", 151.5e9});
  return report;
}

TEST(HealthReport, JsonIsReadAgain) {
  const HealthReport report = someReport();
  const auto read = readHealthReport(toJson(report, {"a problem"}));
  ASSERT_TRUE(read) << read.message();
  EXPECT_EQ(toJson(*read, {"a problem"}), toJson(report, {"a problem"}));
  const auto rank = readRankHealth(toJson(report.ranks[1]));
  ASSERT_TRUE(rank) << rank.message();
  EXPECT_EQ(rank->rank, 1);
  EXPECT_EQ(rank->figures[1].rate, 4255e9);
}

TEST(HealthReport, AnotherFileIsRefused) {
  EXPECT_FALSE(readHealthReport("{}"));
  EXPECT_FALSE(readHealthReport("[1]"));
  EXPECT_FALSE(readHealthReport("not JSON"));
  const auto other = readHealthReport(R"({"version": 2})");
  EXPECT_EQ(other.message(), "it is of version 2, not of 1");
}

TEST(HealthReport, TheTableHasALineForEachRank) {
  const std::string rates =
      "  705.3 TFLOP/s     4255.0 GB/s     151.5 GB/s NV18\n";
  EXPECT_EQ(tableOf(someReport()),
            " rank            host  place     matmul bf16          memory      "
            "  slowest link\n"
            "    0           node0      0 " +
                rates + "    1           node0      1 " + rates);
}

} // namespace
} // namespace reciperun::bench
