// Rates of ranks and links: the slow device or link is named with its factor.

#include "runtime/bench/health/HealthProblems.h"
#include "test/runtime/Says.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace reciperun::bench {
namespace {

using Texts = std::vector<std::string>;

/// Ranks of hosts of `perHost` GPUs, each with one matmul rate in TFLOP/s.
HealthReport reportOf(const std::vector<double>& rates, int perHost) {
  HealthReport report;
  for (size_t i = 0; i < rates.size(); ++i) {
    RankHealth rank;
    rank.rank = int(i);
    rank.place = int(i) % perHost;
    rank.host = "node" + std::to_string(int(i) / perHost);
    rank.device = "NVIDIA H200";
    rank.address = "0000:1" + std::to_string(rank.place) + ":00";
    rank.figures = {{"matmul bf16", "FLOP/s", rates[i] * 1e12}};
    report.ranks.push_back(rank);
  }
  return report;
}

/// All links of a host of `ranks` GPUs, at 150 GB/s.
void addLinks(HealthReport& report, int ranks) {
  for (int a = 0; a < ranks; ++a)
    for (int b = a + 1; b < ranks; ++b)
      report.links.push_back({a, b, "NV18", 150e9});
}
LinkHealth& linkOf(HealthReport& report, int a, int b) {
  for (LinkHealth& link : report.links)
    if (link.first == a && link.second == b)
      return link;
  throw std::out_of_range("no such link");
}

TEST(HealthProblems, AlikeRanksHaveNone) {
  HealthReport report = reportOf({700, 695, 710, 640}, 4);
  addLinks(report, 4);
  EXPECT_EQ(problemsOf(report, 10, nullptr), Texts());
}

TEST(HealthProblems, ASlowDeviceIsNamedWithItsFactor) {
  const HealthReport report =
      reportOf({700, 702, 698, 701, 699, 402, 703, 700}, 4);
  EXPECT_EQ(
      problemsOf(report, 10, nullptr),
      Texts({"node1 GPU 1 (rank 5, 0000:11:00): matmul bf16 at 402.0 TFLOP/s, "
             "0.57 of the median of the ranks, 700.0 TFLOP/s"}));
}

TEST(HealthProblems, OfTwoRanksTheSlowerOneIsFound) {
  const Texts problems = problemsOf(reportOf({350, 700}, 2), 10, nullptr);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_PRED2(says, problems[0], "node0 GPU 0 (rank 0");
}

TEST(HealthProblems, DevicesOfAnotherKindAreNotCompared) {
  HealthReport report = reportOf({700, 300}, 2);
  report.ranks[1].device = "NVIDIA A100";
  EXPECT_EQ(problemsOf(report, 10, nullptr), Texts());
}

TEST(HealthProblems, ToleranceDecides) {
  const HealthReport report = reportOf({700, 700, 620}, 4);
  EXPECT_EQ(problemsOf(report, 12, nullptr), Texts());
  EXPECT_EQ(problemsOf(report, 11, nullptr).size(), 1u);
}

TEST(HealthProblems, AllRanksMayBeSlowerThanBefore) {
  const EarlierHealth earlier = {reportOf({700, 700}, 2), "before.json"};
  const Texts problems = problemsOf(reportOf({500, 501}, 2), 10, &earlier);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_PRED2(says, problems[0], "0.71 of the median of `before.json`, 700.0");
  EXPECT_PRED2(says, problems[1], "rank 1");
}

TEST(HealthProblems, ASlowLinkIsNamedByItsTwoEnds) {
  HealthReport report = reportOf({700, 700, 700, 700}, 4);
  addLinks(report, 4);
  linkOf(report, 1, 3).rate = 60e9;
  EXPECT_EQ(problemsOf(report, 10, nullptr),
            Texts({"link between node0 GPU 1 (rank 1, 0000:11:00) and node0 "
                   "GPU 3 (rank 3, 0000:13:00): 60.0 GB/s, 0.4 of the median "
                   "of the ranks' best NV18 links, 150.0 GB/s"}));
}

TEST(HealthProblems, ARankWithSlowLinksIsNamedOnce) {
  for (const int ranks : {3, 4, 8}) {
    HealthReport report = reportOf(std::vector<double>(size_t(ranks), 700), 8);
    addLinks(report, ranks);
    for (LinkHealth& link : report.links)
      if (link.first == 1 || link.second == 1)
        link.rate = 75e9;
    const std::string links = std::to_string(ranks - 1);
    const Texts problems = problemsOf(report, 10, nullptr);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_PRED2(says, problems[0],
                 "node0 GPU 1 (rank 1, 0000:11:00): " + links + " of " + links +
                     " NV18 links slow");
  }
}

TEST(HealthProblems, LinksOfAnotherKindAreNotCompared) {
  HealthReport report = reportOf({700, 700, 700, 700}, 4);
  addLinks(report, 4);
  linkOf(report, 0, 1).kind = "SYS";
  linkOf(report, 0, 1).rate = 20e9;
  EXPECT_EQ(problemsOf(report, 10, nullptr), Texts());
}

TEST(HealthProblems, FaultsAreProblems) {
  HealthReport report = reportOf({700, 700}, 2);
  report.ranks[1].faults = {"heat lowered the clock (91 C)"};
  report.ranks[1].notes = {"no problem"};
  EXPECT_EQ(problemsOf(report, 10, nullptr),
            Texts({"node0 GPU 1 (rank 1, 0000:11:00): heat lowered the clock "
                   "(91 C)"}));
}

} // namespace
} // namespace reciperun::bench
