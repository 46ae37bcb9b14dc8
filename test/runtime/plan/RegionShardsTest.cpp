// The shards of a region's members that a rank keeps.

#include "runtime/plan/RegionShards.h"

#include <gtest/gtest.h>

#include <tuple>

namespace reciperun::plan {
namespace {

using Triple = std::tuple<int64_t, int64_t, int64_t>;

class Parts : public testing::Test {
protected:
  void SetUp() override {
    mesh.axes = {{"dp", 2}, {"tp", 2}};
    mesh.ranks = 4;
    for (int64_t rows : {6, 10, 2}) {
      Parameter parameter;
      parameter.globalShape = {rows * 2, 2};
      parameter.shardAxes = {"tp", ""};
      parameters.push_back(parameter);
    }
    region.parameters = {0, 1, 2};
    region.starts = {0, 16, 36};
    region.elements = 48; // each rank of dp has 24 of them
    region.shardAxis = "dp";
  }

  Triple run(size_t member, int rank) const {
    plan::Run found = runInShard(region, member, parameters, mesh, rank);
    return {found.first, found.count, found.element};
  }

  Mesh mesh;
  std::vector<Parameter> parameters;
  Region region;
};

TEST_F(Parts, aBlockIsWhatTheAxesLeave) {
  EXPECT_EQ(blockElements(parameters[1], mesh), 20);
}

TEST_F(Parts, aMemberIsWholeOrCutOrElsewhere) {
  // Ranks 0 and 1 are the first of dp, with other blocks of the same size.
  for (int rank : {0, 1}) {
    EXPECT_EQ(run(0, rank), Triple(0, 12, 0));
    EXPECT_EQ(run(1, rank), Triple(0, 8, 16));
    EXPECT_EQ(std::get<1>(run(2, rank)), 0);
  }
  for (int rank : {2, 3}) {
    EXPECT_EQ(std::get<1>(run(0, rank)), 0);
    EXPECT_EQ(run(1, rank), Triple(8, 12, 0));
    EXPECT_EQ(run(2, rank), Triple(0, 4, 12));
  }
}

TEST_F(Parts, whatIsNotSharedIsWhole) {
  region.shardAxis.clear();
  EXPECT_EQ(run(1, 3), Triple(0, 20, 16));
}

} // namespace
} // namespace reciperun::plan
