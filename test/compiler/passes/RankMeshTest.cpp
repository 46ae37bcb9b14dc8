// Degrees as sets of axes.

#include "compiler/passes/build/RankMesh.h"

#include "test/compiler/passes/RecipeWriter.h"

#include <gtest/gtest.h>

namespace recipec::passes {
namespace {

/// `dp 4, tp 2`: the axes with more than one rank.
std::string axes(const RankMesh& mesh) {
  std::string text;
  for (const ir::Axis& axis : mesh.axes)
    if (axis.size > 1)
      text += (text.empty() ? "" : ", ") + axis.name + " " +
              std::to_string(axis.size);
  return text;
}

std::string degree(const RankMesh& mesh, const std::string& name) {
  ir::Module module;
  module.axes = mesh.axes;
  return ir::groupName(module, mesh.degrees.at(name).axes);
}

test::RecipeWriter degrees(int64_t dp, int64_t cp, int64_t tp) {
  test::RecipeWriter writer;
  writer.degrees(dp, tp, false).set("parallel.cp", cp);
  writer.set("parallel.edp", dp * cp * tp);
  return writer;
}

RankMesh mesh(test::RecipeWriter writer) {
  return meshOf(writer.finish(writer.tokens()));
}

TEST(RankMesh, RanksOfATensorParallelGroupAreNeighbours) {
  RankMesh made = mesh(degrees(4, 2, 2).set("parallel.pp", int64_t(2)));
  EXPECT_EQ(axes(made), "pp 2, dp 4, cp 2, tp 2");
  EXPECT_EQ(degree(made, "dp"), "dp");
}

TEST(RankMesh, ExpertsAreLaidOverTheRanksOfAStage) {
  RankMesh made = mesh(degrees(4, 1, 2)
                           .set("parallel.ep", int64_t(4))
                           .set("parallel.edp", int64_t(2)));
  EXPECT_EQ(axes(made), "dp.0 2, dp.1 2, tp 2");
  EXPECT_EQ(degree(made, "dp"), "dp.0+dp.1");
  EXPECT_EQ(degree(made, "ep"), "dp.1+tp");
  EXPECT_EQ(degree(made, "etp"), "");
  EXPECT_EQ(degree(made, "edp"), "dp.0");
}

TEST(RankMesh, ADegreeOfExpertsMayBeAPartOfTp) {
  RankMesh made = mesh(degrees(1, 1, 4)
                           .set("parallel.etp", int64_t(2))
                           .set("parallel.ep", int64_t(2))
                           .set("parallel.edp", int64_t(1)));
  EXPECT_EQ(axes(made), "tp.0 2, tp.1 2");
  EXPECT_EQ(degree(made, "etp"), "tp.1");
  EXPECT_EQ(degree(made, "ep"), "tp.0");
}

TEST(RankMesh, TwoLevelsOfContextParallelism) {
  RankMesh made = mesh(degrees(1, 4, 1).set("parallel.cp_a2a", int64_t(2)));
  EXPECT_EQ(axes(made), "cp.0 2, cp.1 2");
  EXPECT_EQ(degree(made, "cp_ring"), "cp.0");
  EXPECT_EQ(degree(made, "cp_a2a"), "cp.1");
}

TEST(RankMesh, ReplicasOfAShardedOptimizerAreTheOutermost) {
  RankMesh made =
      mesh(degrees(8, 1, 1).set("parallel.shard_instances", int64_t(2)));
  EXPECT_EQ(axes(made), "dp.0 2, dp.1 4");
  EXPECT_EQ(degree(made, "instances"), "dp.0");
}

} // namespace
} // namespace recipec::passes
