// The pipeline as a whole: outputs that read back, deterministic output, speed
// at the largest sizes.

#include "test/compiler/driver/Compiled.h"

#include "compiler/cost/Flops.h"
#include "compiler/ir/Parse.h"
#include "compiler/ir/Print.h"
#include "runtime/plan/PlanJson.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ctime>

namespace recipec::driver {
namespace {

void expectReadsBack(const ir::Module& module) {
  std::string text = ir::print(module);
  std::string error;
  std::optional<ir::Module> parsed = ir::parse(text, error);
  ASSERT_TRUE(parsed) << error;
  EXPECT_EQ(ir::print(*parsed), text);
}

TEST(Pipeline, ProgramsReadBack) {
  for (const char* target : {"tiny.recipe:tiny", "tiny.recipe:adapted"})
    if (auto compiled = compileInput(target))
      expectReadsBack(compiled->result.stages[0]);
  if (auto compiled = compileInput(
          "tiny.recipe:tiny",
          {"task=\"generate\"", "cluster.ranks=1", "parallel.tp=1"}))
    expectReadsBack(compiled->result.stages[0]);
}

TEST(Pipeline, GraphsReadBack) {
  auto compiled = compileInput("tiny.recipe:adapted");
  ASSERT_TRUE(compiled);
  diag::Engine engine;
  auto graph = makeGraph(compiled->result.recipe, engine);
  ASSERT_TRUE(graph);
  expectReadsBack(*graph);
}

TEST(Pipeline, PlansAreEqualAndValid) {
  std::string first;
  for (int i = 0; i < 2; ++i) {
    auto compiled = compileInput("tiny.recipe:adapted", {"export.hf=\"out\""});
    ASSERT_TRUE(compiled);
    auto plan = makePlan(*compiled->session, compiled->session->engine,
                         compiled->result);
    ASSERT_TRUE(plan);
    std::string text = reciperun::plan::toJson(*plan);
    auto read = reciperun::plan::fromJson(text);
    ASSERT_TRUE(read) << read.status().message();
    EXPECT_TRUE(reciperun::plan::validate(*read).isOk());
    if (i == 0)
      first = text;
    EXPECT_EQ(text, first);
  }
}

TEST(Pipeline, ExportEmbedsAPlanThatGenerates) {
  auto compiled = compileInput("tiny.recipe:adapted", {"export.hf=\"out\""});
  ASSERT_TRUE(compiled);
  auto plan =
      makePlan(*compiled->session, compiled->session->engine, compiled->result);
  ASSERT_TRUE(plan);
  auto generation = reciperun::plan::fromJson(plan->generation);
  ASSERT_TRUE(generation) << generation.status().message();
  EXPECT_TRUE(reciperun::plan::validate(*generation).isOk());
  EXPECT_EQ(generation->task, "generate");
  EXPECT_EQ(generation->mesh.ranks, 1);
  ASSERT_TRUE(generation->serving);
  EXPECT_EQ(generation->serving->maxBatch, 8);
  EXPECT_EQ(generation->serving->maxTokens, 32);
  EXPECT_EQ(generation->serving->buckets.back().tokens, 64);
  // The exported model is merged and has no adapter parameters.
  for (const auto& parameter : generation->parameters)
    EXPECT_FALSE(parameter.adapter) << parameter.name;
}

/// 6 N per token for the matrices (Kaplan et al. 2020, section 2.1), plus the
/// attention of causal pairs, counted by hand.
TEST(Pipeline, FlopsAreThoseOfTheFormula) {
  auto compiled = compileInput("tiny.recipe:tiny");
  ASSERT_TRUE(compiled);
  double vocab = 256, hidden = 64, ffn = 128, layers = 3, heads = 4, d = 16;
  double matrices =
      layers * (hidden * hidden * 2 + hidden * 32 * 2 + hidden * ffn * 3) +
      vocab * hidden;
  double tokens = 8 * 32;
  double pairs = 8 * 32 * 33 / 2;
  double attention = 3 * layers * 4 * pairs * heads * d;
  EXPECT_DOUBLE_EQ(compiled->result.estimate.flopsPerStep,
                   6 * matrices * tokens + attention);
}

TEST(Pipeline, FlopsDoNotDependOnTheLayout) {
  auto whole =
      compileInput("tiny.recipe:adapted", {"cluster.ranks=1", "parallel.tp=1"});
  auto split = compileInput("tiny.recipe:adapted");
  ASSERT_TRUE(whole && split);
  EXPECT_DOUBLE_EQ(whole->result.estimate.flopsPerStep,
                   split->result.estimate.flopsPerStep);
}

/// 405 billion parameters on 1024 ranks: the work grows only with the layers.
/// The limit is five times the CPU time on an idle machine. CPU time depends
/// little on other processes.
/// Sanitizers take ten times as long.
#ifdef __SANITIZE_ADDRESS__
constexpr double longestCompilation = 20;
#else
constexpr double longestCompilation = 2;
#endif

TEST(Pipeline, CompilesTheLargestModelQuickly) {
  const std::clock_t start = std::clock();
  auto compiled = compileInput("large.recipe:llama_405b");
  const double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
  ASSERT_TRUE(compiled);
  EXPECT_LT(seconds, longestCompilation);
  int64_t elements = 0;
  for (const ir::Param& param : compiled->result.stages[0].params)
    elements += ir::localElements(compiled->result.stages[0], param.value);
  EXPECT_NEAR(double(elements) * 8, 405.9e9, 0.2e9); // tp = 8
}

} // namespace
} // namespace recipec::driver
