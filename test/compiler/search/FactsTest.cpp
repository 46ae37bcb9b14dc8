// Which layouts are legal, and how layers are split.

#include "compiler/search/Facts.h"

#include <gtest/gtest.h>

#include <numeric>

namespace recipec::search {
namespace {

Facts denseFacts() {
  return {.ranks = 16, .globalBatch = 32, .sequence = 1024, .layers = 8};
}

Facts expertFacts() {
  Facts facts = denseFacts();
  facts.experts = 8;
  facts.expertFfn = 64;
  return facts;
}

TEST(Facts, DegreesDivideTheRanks) {
  EXPECT_TRUE(isLegal(denseFacts(), {.tp = 2, .cp = 2, .pp = 4}));
  EXPECT_FALSE(isLegal(denseFacts(), {.tp = 3}));
  EXPECT_FALSE(isLegal(denseFacts(), {.tp = 8, .pp = 4}));
}

TEST(Facts, MicroBatchesDivideTheBatch) {
  EXPECT_TRUE(isLegal(denseFacts(), {.tp = 2, .micro = 4})); // dp 8
  EXPECT_FALSE(isLegal(denseFacts(), {.tp = 2, .micro = 8}));
}

TEST(Facts, AnInterleavedPipelineTakesGroupsOfMicroBatches) {
  EXPECT_TRUE(isLegal(denseFacts(), {.pp = 4, .vp = 2})); // 8 micro-batches
  EXPECT_FALSE(isLegal(denseFacts(), {.pp = 8, .vp = 1, .micro = 32}));
  EXPECT_FALSE(isLegal(denseFacts(), {.pp = 4, .vp = 2, .micro = 4}));
  EXPECT_FALSE(isLegal(denseFacts(), {.pp = 1, .vp = 2}));
  EXPECT_FALSE(isLegal(denseFacts(), {.pp = 4, .vp = 4})); // 8 layers
}

TEST(Facts, TheSequenceDividesIntoTwoPartsForEachRank) {
  EXPECT_TRUE(isLegal(denseFacts(), {.tp = 2, .cp = 4}));
  Facts facts = denseFacts();
  facts.sequence = 1000;
  EXPECT_FALSE(isLegal(facts, {.tp = 2, .cp = 8}));
}

TEST(Facts, ExpertsOfAModelThatHasThem) {
  EXPECT_FALSE(isLegal(denseFacts(), {.ep = 2}));
  EXPECT_TRUE(isLegal(expertFacts(), {.ep = 8}));
  EXPECT_FALSE(isLegal(expertFacts(), {.ep = 16}));
  EXPECT_TRUE(isLegal(expertFacts(), {.tp = 4, .ep = 4, .etp = 4}));
  EXPECT_FALSE(isLegal(expertFacts(), {.pp = 4, .ep = 8})); // 4 ranks a stage
}

/// 12 ranks: groups of 3 ranks of `tp` and of 2 of `ep` cut through each other.
TEST(Facts, GroupsAreNested) {
  Facts facts = expertFacts();
  facts.ranks = 12;
  facts.globalBatch = 12;
  facts.sequence = 1200;
  EXPECT_FALSE(isLegal(facts, {.tp = 3, .ep = 2}));
  EXPECT_TRUE(isLegal(facts, {.tp = 2, .ep = 2}));
}

TEST(Facts, EqualSharesArePreferred) {
  EXPECT_EQ(splitsOf(80, 20), std::vector<Split>{Split{}});
  EXPECT_EQ(splitsOf(61, 1), std::vector<Split>{Split{}});
}

TEST(Facts, EmbeddingAndLossCountAsLayers) {
  const std::vector<Split> both = splitsOf(126, 64);
  ASSERT_EQ(both.size(), 1u);
  EXPECT_TRUE(both[0].embeddingAsLayer && both[0].lossAsLayer);
  Facts facts = denseFacts();
  facts.layers = 126;
  const std::vector<int64_t> layers =
      chunkLayers(facts, {.pp = 8, .vp = 8, .split = both[0]});
  EXPECT_EQ(layers.size(), 64u);
  EXPECT_EQ(layers.front(), 1);
  EXPECT_EQ(layers[1], 2);
  EXPECT_EQ(std::accumulate(layers.begin(), layers.end(), int64_t(0)), 126);
}

TEST(Facts, ListsHaveAllLayers) {
  const std::vector<Split> splits = splitsOf(61, 16);
  ASSERT_EQ(splits.size(), 2u);
  for (const Split& each : splits) {
    ASSERT_TRUE(each.layers);
    EXPECT_EQ(
        std::accumulate(each.layers->begin(), each.layers->end(), int64_t(0)),
        61);
  }
  EXPECT_EQ(splits[0].layers->back(), 3);
  EXPECT_EQ(splits[1].layers->back(), 1);
}

} // namespace
} // namespace recipec::search
