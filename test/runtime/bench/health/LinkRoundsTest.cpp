// Each pair of a host meets once, and no rank is twice in a round.

#include "runtime/bench/health/LinkRounds.h"

#include <gtest/gtest.h>

#include <set>

namespace reciperun::bench {
namespace {

std::set<std::pair<int, int>> pairsOf(const std::vector<int>& hosts) {
  std::set<std::pair<int, int>> pairs;
  for (const auto& round : linkRounds(hosts)) {
    std::set<int> busy;
    for (const RankPair& pair : round) {
      EXPECT_LT(pair.first, pair.second);
      EXPECT_TRUE(busy.insert(pair.first).second);
      EXPECT_TRUE(busy.insert(pair.second).second);
      EXPECT_TRUE(pairs.insert({pair.first, pair.second}).second);
    }
  }
  return pairs;
}

TEST(LinkRounds, AHostHasAllPairs) {
  for (const int ranks : {1, 2, 3, 4, 7, 8}) {
    const std::vector<int> hosts(size_t(ranks), 0);
    EXPECT_EQ(pairsOf(hosts).size(), size_t(ranks * (ranks - 1) / 2));
    EXPECT_LE(linkRounds(hosts).size(), size_t(ranks));
  }
}

TEST(LinkRounds, HostsMeasureAtTheSameTimeAndThenTheirNeighbours) {
  EXPECT_EQ(pairsOf({0, 0, 5, 5}),
            (std::set<std::pair<int, int>>{{0, 1}, {2, 3}, {0, 2}, {1, 3}}));
  EXPECT_EQ(linkRounds({0, 0, 5, 5}).size(), 2u);
}

TEST(LinkRounds, HostsAreARing) {
  for (const int count : {3, 4, 5}) {
    std::vector<int> hosts;
    for (int host = 0; host < count; ++host)
      hosts.push_back(host);
    EXPECT_EQ(pairsOf(hosts).size(), size_t(count));
    EXPECT_TRUE(pairsOf(hosts).contains({0, count - 1}));
  }
}

} // namespace
} // namespace reciperun::bench
