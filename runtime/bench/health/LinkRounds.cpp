// The rounds of a host are those of a round-robin tournament: one rank stays,
// the others move around a circle.

#include "runtime/bench/health/LinkRounds.h"

#include <algorithm>
#include <map>

namespace reciperun::bench {
namespace {

using Rounds = std::vector<std::vector<RankPair>>;

RankPair pairOf(int a, int b) {
  return {std::min(a, b), std::max(a, b)};
}

/// Adds all pairs of a host's ranks to the rounds from the first one on.
void addHost(const std::vector<int>& ranks, Rounds& rounds) {
  constexpr int nobody = -1;
  std::vector<int> circle = ranks;
  if (circle.size() % 2 != 0)
    circle.push_back(nobody);
  for (size_t round = 0; round + 1 < circle.size(); ++round) {
    if (round == rounds.size())
      rounds.emplace_back();
    for (size_t i = 0; i < circle.size() / 2; ++i) {
      const int a = circle[i], b = circle[circle.size() - 1 - i];
      if (a != nobody && b != nobody)
        rounds[round].push_back(pairOf(a, b));
    }
    std::rotate(circle.begin() + 1, circle.end() - 1, circle.end());
  }
}

void addPairs(const std::vector<int>& a, const std::vector<int>& b,
              std::vector<RankPair>& round) {
  for (size_t place = 0; place < std::min(a.size(), b.size()); ++place)
    round.push_back(pairOf(a[place], b[place]));
}

} // namespace

std::vector<std::vector<RankPair>> linkRounds(const std::vector<int>& hosts) {
  std::map<int, std::vector<int>> ranksOfHost;
  for (size_t rank = 0; rank < hosts.size(); ++rank)
    ranksOfHost[hosts[rank]].push_back(int(rank));
  std::vector<std::vector<int>> all;
  Rounds rounds;
  for (const auto& [host, ranks] : ranksOfHost) {
    addHost(ranks, rounds);
    all.push_back(ranks);
  }
  if (all.size() < 2)
    return rounds;
  Rounds between(all.size() == 2 ? 1 : all.size() % 2 == 0 ? 2 : 3);
  for (size_t host = 0; host + 1 < all.size(); ++host)
    addPairs(all[host], all[host + 1], between[host % 2]);
  if (all.size() > 2)
    addPairs(all.back(), all.front(), between.back());
  rounds.insert(rounds.end(), between.begin(), between.end());
  return rounds;
}

} // namespace reciperun::bench
