// Degrees that do not divide the sizes that they shard: one message per axis,
// with the sizes and the valid degrees.

#include "compiler/passes/shard/CheckDivisibility.h"
#include "compiler/passes/build/Build.h"
#include "test/compiler/passes/RecipeWriter.h"

#include <gtest/gtest.h>

namespace recipec::passes {
namespace {

using test::RecipeWriter;

std::vector<diag::Diagnostic> diagnosticsOf(int64_t tp, bool sequence) {
  RecipeWriter writer;
  writer.degrees(1, tp, sequence);
  recipe::Recipe recipe = test::llama(writer, 1);
  diag::Engine engine;
  ir::Module graph = build(recipe, trainingExtent(recipe), engine);
  checkDivisibility(graph, layoutOf(recipe), engine);
  return engine.all();
}

TEST(CheckDivisibility, DegreesThatDivideAreSilent) {
  for (int64_t tp : {1, 2, 4})
    for (bool sequence : {false, true})
      EXPECT_TRUE(diagnosticsOf(tp, sequence).empty()) << tp;
}

TEST(CheckDivisibility, OneMessageForAllDimensions) {
  std::vector<diag::Diagnostic> all = diagnosticsOf(3, true);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, diag::Kind::Indivisible);
  EXPECT_EQ(all[0].message, "`tp` = 3 does not divide `heads` = 8");
  ASSERT_EQ(all[0].labels.size(), 3u); // 3 divides ffn = 24
  EXPECT_EQ(all[0].labels[1].text, "nor does it divide `kv_heads` = 4");
  EXPECT_EQ(all[0].labels[2].text, "nor does it divide `vocab` = 32");
  const diag::Proposal& alone = all[0].proposals.at(0);
  EXPECT_EQ(alone.before, "change `tp` to ");
  ASSERT_EQ(alone.ways.size(), 3u); // nearest first
  EXPECT_EQ(alone.ways[0].text, "2");
  EXPECT_EQ(alone.ways[2].settings.at(0), "parallel.tp=1");
  EXPECT_EQ(all[0].proposals.at(1).ways[0].settings.at(1), "cluster.ranks=2");
}

TEST(CheckDivisibility, KeyHeadsAlone) {
  std::vector<diag::Diagnostic> all = diagnosticsOf(8, false);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].message, "`tp` = 8 does not divide `kv_heads` = 4");
}

TEST(CheckDivisibility, TheSequenceUnderSequenceParallelism) {
  RecipeWriter writer;
  writer.degrees(1, 4, true);
  writer.set("data.sequence", int64_t(10));
  recipe::Recipe recipe = test::llama(writer, 1);
  diag::Engine engine;
  ir::Module graph = build(recipe, trainingExtent(recipe), engine);
  checkDivisibility(graph, layoutOf(recipe), engine);
  ASSERT_EQ(engine.errors(), 1);
  EXPECT_EQ(engine.all()[0].message,
            "`tp` = 4 does not divide `sequence` = 10");
  const std::vector<diag::WayOut>& ways = engine.all()[0].proposals.at(0).ways;
  ASSERT_EQ(ways.size(), 2u);
  EXPECT_EQ(ways[0].settings.at(0), "data.sequence=12");
  EXPECT_EQ(ways[1].settings.at(0), "data.sequence=8");
  const diag::Proposal& other = engine.all()[0].proposals.at(1);
  EXPECT_EQ(other.ways.at(0).settings.at(0), "parallel.sequence=false");
}

} // namespace
} // namespace recipec::passes
