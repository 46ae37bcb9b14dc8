// Which pairs of ranks measure their links, and when.

#ifndef RECIPERUN_BENCH_HEALTH_LINKROUNDS_H
#define RECIPERUN_BENCH_HEALTH_LINKROUNDS_H

#include <vector>

namespace reciperun::bench {

struct RankPair {
  int first = 0, second = 0; // first < second

  friend bool operator==(const RankPair&, const RankPair&) = default;
};

/// Rounds of pairs, no rank twice in one: all pairs of each host, then each
/// rank with the rank of the same place on the next host, the last host's with
/// the first's. `hosts` has a number for the host of each rank.
std::vector<std::vector<RankPair>> linkRounds(const std::vector<int>& hosts);

} // namespace reciperun::bench

#endif // RECIPERUN_BENCH_HEALTH_LINKROUNDS_H
