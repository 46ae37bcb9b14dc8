// Degrees that do not divide what they split: one message an axis, with the
// sizes and the degrees that do.

#include "compiler/passes/CheckDivisibility.h"
#include "compiler/passes/Build.h"
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
  EXPECT_EQ(all[0].helps.at(0), "change `tp` to 1, 2 or 4");
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
  EXPECT_EQ(engine.all()[0].helps.at(0),
            "make `data.sequence` a multiple of 4, or set "
            "`parallel.sequence = false`");
}

} // namespace
} // namespace recipec::passes
