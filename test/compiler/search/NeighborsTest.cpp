// Layouts that are one step apart.

#include "compiler/search/Neighbors.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace recipec::search {
namespace {

Facts sixteenRanks() {
  return {.ranks = 16,
          .ranksPerNode = 8,
          .linkRanks = 8,
          .globalBatch = 32,
          .sequence = 4096,
          .layers = 8};
}

template <class Predicate>
bool isAny(const std::vector<Layout>& layouts, Predicate predicate) {
  return std::any_of(layouts.begin(), layouts.end(), predicate);
}

TEST(Neighbors, DivisorsAreInOrder) {
  EXPECT_EQ(divisorsOf(12), (std::vector<int64_t>{1, 2, 3, 4, 6, 12}));
  EXPECT_EQ(divisorsOf(16), (std::vector<int64_t>{1, 2, 4, 8, 16}));
  EXPECT_EQ(divisorsOf(1), std::vector<int64_t>{1});
}

TEST(Neighbors, EachDiffersInOneStep) {
  const Layout layout{.tp = 4, .micro = 2};
  for (const Layout& each :
       neighborsOf(sixteenRanks(), layout, activationChoices(sixteenRanks()))) {
    const int differences = (each.tp != layout.tp) + (each.cp != layout.cp) +
                            (each.micro != layout.micro) +
                            (each.shard != layout.shard) +
                            (each.activations != layout.activations);
    EXPECT_EQ(differences, 1);
    EXPECT_TRUE(each.tp == 2 || each.tp == 4 || each.tp == 8);
  }
}

TEST(Neighbors, FewerActivationsOnlyOnRequest) {
  auto recomputes = [](const Layout& each) {
    return each.activations.recompute != "none";
  };
  EXPECT_FALSE(isAny(neighborsOf(sixteenRanks(), {}, {}), recomputes));
  EXPECT_TRUE(
      isAny(neighborsOf(sixteenRanks(), {}, activationChoices(sixteenRanks())),
            recomputes));
}

TEST(Neighbors, ExpertsOfAModelThatHasThem) {
  auto shardsExperts = [](const Layout& each) { return each.ep > 1; };
  EXPECT_FALSE(isAny(neighborsOf(sixteenRanks(), {}, {}), shardsExperts));
  Facts facts = sixteenRanks();
  facts.experts = 8;
  EXPECT_TRUE(isAny(neighborsOf(facts, {}, {}), shardsExperts));
}

TEST(Neighbors, TensorParallelismStaysWithinLinks) {
  const Facts facts = sixteenRanks();
  EXPECT_TRUE(isWithinLimits(facts, {}, {.tp = 8}));
  EXPECT_FALSE(isWithinLimits(facts, {}, {.tp = 16}));
  EXPECT_TRUE(isWithinLimits(facts, {.tp = 16}, {.tp = 16}));
}

TEST(Neighbors, AContextRankHasManyTokens) {
  const Facts facts = sixteenRanks();
  EXPECT_TRUE(isWithinLimits(facts, {}, {.cp = 4}));
  EXPECT_FALSE(isWithinLimits(facts, {}, {.cp = 8}));
  EXPECT_TRUE(isWithinLimits(facts, {.cp = 8}, {.cp = 8}));
}

} // namespace
} // namespace recipec::search
