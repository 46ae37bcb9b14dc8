// The Program of a server: its cache takes the memory that it may take, to the
// page, and no value overlaps another that lives at the same time.

#include "test/compiler/driver/Compiled.h"

#include "compiler/passes/inference/ServingLimits.h"
#include "runtime/ops/OpKind.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace recipec::driver {
namespace {

std::vector<std::string> serving(std::vector<std::string> sets) {
  std::vector<std::string> all = {"task=\"serve\"", "cluster.ranks=1",
                                  "parallel.tp=1", "serve.page=8"};
  all.insert(all.end(), sets.begin(), sets.end());
  return all;
}

/// Three layers of 2 heads of 16 f32 elements: keys and values of 8 tokens.
constexpr int64_t pageBytes = 3 * 2 * 8 * 2 * 16 * 4;

TEST(Serving, CacheHoldsAllSequencesWhereMemoryAllows) {
  auto compiled = compileInput("tiny.recipe:tiny", serving({}));
  ASSERT_TRUE(compiled);
  const passes::CacheSize& cache = compiled->result.cache;
  EXPECT_EQ(cache.pageBytes, pageBytes);
  EXPECT_EQ(cache.least, 4); // 32 tokens
  EXPECT_EQ(cache.pages, 8 * 4);
  EXPECT_EQ(cache.bytes, 32 * pageBytes);
  EXPECT_EQ(compiled->result.estimate.memory.cache, cache.bytes);
  EXPECT_TRUE(compiled->result.fits());
}

TEST(Serving, CacheTakesWhatMemoryLeaves) {
  auto whole = compileInput("tiny.recipe:tiny", serving({}));
  ASSERT_TRUE(whole);
  const int64_t others =
      whole->result.estimate.memory.total - whole->result.cache.bytes;
  const int64_t memory = others + 21 * pageBytes + pageBytes / 2;
  auto compiled = compileInput(
      "tiny.recipe:tiny",
      serving({"serve.memory_fraction=1",
               "cluster.hardware.memory=" + std::to_string(memory) + "B"}));
  ASSERT_TRUE(compiled);
  EXPECT_EQ(compiled->result.cache.pages, 21);
  EXPECT_EQ(compiled->result.estimate.memory.total, others + 21 * pageBytes);
  EXPECT_TRUE(compiled->result.fits());
}

TEST(Serving, CacheTakesTheBytesThatAreSet) {
  auto compiled = compileInput(
      "tiny.recipe:tiny",
      serving({"serve.cache=" + std::to_string(100 * pageBytes + 1) + "B"}));
  ASSERT_TRUE(compiled);
  EXPECT_EQ(compiled->result.cache.pages, 100);
}

TEST(Serving, CacheBelowASequenceDoesNotFit) {
  auto compiled = compileInput(
      "tiny.recipe:tiny",
      serving({"serve.cache=" + std::to_string(4 * pageBytes - 1) + "B"}));
  ASSERT_TRUE(compiled);
  EXPECT_EQ(compiled->result.cache.roomPages, 3);
  EXPECT_FALSE(compiled->result.fits());
  diag::Engine engine;
  EXPECT_FALSE(makePlan(*compiled->session, engine, compiled->result));
  ASSERT_EQ(engine.errors(), 1);
}

TEST(Serving, WhatLivesBetweenStepsOverlapsNothing) {
  auto compiled = compileInput("tiny.recipe:tiny", serving({}));
  ASSERT_TRUE(compiled);
  const ir::Module& program = compiled->result.stages[0];
  std::set<ir::ValueId> pages;
  int64_t end = 0;
  for (const ir::Placement& placement : program.placements) {
    const ir::ValueKind kind = program[placement.value].kind;
    EXPECT_LE(placement.offset + placement.bytes, program.arenaBytes);
    EXPECT_EQ(placement.bytes, ir::localBytes(program, placement.value));
    if (placement.category == "cache")
      pages.insert(placement.value);
    if (kind == ir::ValueKind::temporary)
      EXPECT_GE(placement.offset, end) << program[placement.value].name;
    else if (kind != ir::ValueKind::parameter) {
      EXPECT_GE(placement.offset, end) << program[placement.value].name;
      end = placement.offset + placement.bytes;
    }
  }
  EXPECT_EQ(pages.size(), 6u);
}

TEST(Serving, WidthsDoubleUpTo512Tokens) {
  using Widths = std::vector<int64_t>;
  auto widths = [](int64_t batch, int64_t budget, int64_t tokenRanks = 1) {
    passes::ServingLimits limits;
    limits.maxBatch = batch;
    limits.tokenBudget = budget;
    limits.tokenRanks = tokenRanks;
    return passes::stepWidths(limits);
  };
  EXPECT_EQ(widths(8, 64), (Widths{1, 2, 4, 8, 16, 32, 64}));
  EXPECT_EQ(widths(1, 1), (Widths{1}));
  EXPECT_EQ(widths(1, 64), (Widths{1, 2, 4, 8, 16, 32, 64}));
  EXPECT_EQ(widths(6, 100), (Widths{1, 2, 4, 6, 8, 16, 32, 64, 100}));
  EXPECT_EQ(widths(8, 8), (Widths{1, 2, 4, 8}));
  EXPECT_EQ(widths(6, 100, 4), (Widths{4, 8, 16, 32, 64, 100}));
  const Widths wide = widths(700, 2100);
  EXPECT_EQ(
      Widths(wide.begin() + 9, wide.end()),
      (Widths{512, 640, 700, 768, 896, 1024, 1280, 1536, 1792, 2048, 2100}));
}

/// The last norm and the matmul to the vocabulary process the wanted rows.
TEST(Serving, OnlyWantedRowsGetLogits) {
  auto compiled = compileInput("tiny.recipe:tiny", serving({}));
  ASSERT_TRUE(compiled);
  const ir::Module& program = compiled->result.stages[0];
  const ir::Function* step = ir::findFunction(program, "step_64");
  ASSERT_TRUE(step);
  const std::vector<ir::Op>& ops = step->ops;
  ASSERT_GE(ops.size(), 4u);
  EXPECT_EQ(ops.back().kind, ir::OpKind::Sample);
  const ir::Op* last = &ops.back() - 1;
  EXPECT_EQ(last[0].kind, ir::OpKind::Linear);
  EXPECT_EQ(last[-1].kind, ir::OpKind::RmsNorm);
  EXPECT_EQ(last[-2].kind, ir::OpKind::TakeRows);
  EXPECT_EQ(ir::localShape(program, last[0].results[0]),
            (std::vector<int64_t>{1, 8, 256}));
}

/// Logits are gathered for the wanted rows alone.
TEST(Serving, RanksGatherTheLogitsOfASplitVocabulary) {
  auto compiled = compileInput("tiny.recipe:tiny",
                               serving({"cluster.ranks=2", "parallel.tp=2"}));
  ASSERT_TRUE(compiled);
  const ir::Module& program = compiled->result.stages[0];
  const ir::Function* step = ir::findFunction(program, "step_64");
  ASSERT_TRUE(step);
  const ir::Op* last = &step->ops.back();
  EXPECT_EQ(last[0].kind, ir::OpKind::Sample);
  EXPECT_EQ(last[-1].kind, ir::OpKind::AllGather);
  EXPECT_EQ(last[-2].kind, ir::OpKind::Linear);
  EXPECT_EQ(last[-4].kind, ir::OpKind::TakeRows);
  EXPECT_EQ(ir::localShape(program, last[-2].results[0]),
            (std::vector<int64_t>{1, 8, 128}));
  EXPECT_EQ(ir::localShape(program, last[-1].results[0]),
            (std::vector<int64_t>{1, 8, 256}));
  // Each rank has the keys of its heads.
  EXPECT_EQ(compiled->result.cache.pageBytes, pageBytes / 2);
}

TEST(Serving, PlanHasItsLimits) {
  auto compiled = compileInput("tiny.recipe:tiny",
                               serving({"serve.policy=\"max_utilization\""}));
  ASSERT_TRUE(compiled);
  auto plan =
      makePlan(*compiled->session, compiled->session->engine, compiled->result);
  ASSERT_TRUE(plan && plan->serving);
  const reciperun::plan::Serving& limits = *plan->serving;
  EXPECT_EQ(limits.maxBatch, 8);
  EXPECT_EQ(limits.maxTokens, 32);
  EXPECT_EQ(limits.tokenBudget, 64);
  EXPECT_EQ(limits.page, 8);
  EXPECT_EQ(limits.pages, 32);
  EXPECT_TRUE(limits.prefixCache);
  EXPECT_FALSE(limits.hasStates);
  EXPECT_EQ(limits.policy, reciperun::plan::ServingPolicy::maxUtilization);
  ASSERT_EQ(limits.buckets.size(), 7u);
  EXPECT_EQ(limits.buckets.back().rows, 8);
}

} // namespace
} // namespace recipec::driver
