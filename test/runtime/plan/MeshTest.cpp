// Ranks are numbered row-major; group members agree on all axes that the group
// does not span.

#include "runtime/plan/Mesh.h"

#include <gtest/gtest.h>

namespace reciperun::plan {
namespace {

const Mesh mesh = {{{"dp", 2}, {"pp", 3}, {"tp", 2}}, {}, 12};

TEST(Mesh, theFirstAxisVariesSlowest) {
  EXPECT_EQ(coordinate(mesh, 7, "dp"), 1);
  EXPECT_EQ(coordinate(mesh, 7, "pp"), 0);
  EXPECT_EQ(coordinate(mesh, 7, "tp"), 1);
  EXPECT_EQ(coordinate(mesh, 4, "pp"), 2);
  EXPECT_EQ(coordinate(mesh, 7, "cp"), 0);
  EXPECT_EQ(axisSize(mesh, "pp"), 3);
  EXPECT_EQ(axisSize(mesh, ""), 1);
}

TEST(Mesh, groups) {
  using Ranks = std::vector<int>;
  EXPECT_EQ(groupMembers(mesh, {"tp", {"tp"}}, 5), (Ranks{4, 5}));
  EXPECT_EQ(groupMembers(mesh, {"dp", {"dp"}}, 5), (Ranks{5, 11}));
  EXPECT_EQ(groupMembers(mesh, {"pp", {"pp"}}, 8), (Ranks{6, 8, 10}));
  EXPECT_EQ(groupMembers(mesh, {"dp tp", {"tp", "dp"}}, 9),
            (Ranks{2, 3, 8, 9}));
  EXPECT_EQ(groupMembers(mesh, {"self", {}}, 9), (Ranks{9}));
  EXPECT_EQ(groupSize(mesh, {"dp tp", {"tp", "dp"}}), 4);
}

TEST(Mesh, blocksOfARingComeFromTheRanksBefore) {
  // Rank 8 is the second of three along `pp`.
  EXPECT_EQ(coordinate(mesh, 8, "pp"), 1);
  EXPECT_EQ(blockOwner(mesh, 8, "pp", 0), BlockOwner::self);
  EXPECT_EQ(blockOwner(mesh, 8, "pp", 1), BlockOwner::earlier);
  EXPECT_EQ(blockOwner(mesh, 8, "pp", 2), BlockOwner::later);
  // The first rank receives the block of the last one.
  EXPECT_EQ(blockOwner(mesh, 0, "pp", 1), BlockOwner::later);
}

} // namespace
} // namespace reciperun::plan
