// Adapter shapes that match their matrix, and shapes that do not.

#include "runtime/plan/LoraFactors.h"

#include <gtest/gtest.h>

namespace reciperun::plan {
namespace {

TEST(LoraFactors, MakeTheMatrix) {
  EXPECT_TRUE(areLoraFactors({8, 6}, {2, 6}, {8, 2}));
  // [heads, width, in] and [out, heads, width].
  EXPECT_TRUE(areLoraFactors({4, 2, 6}, {2, 6}, {4, 2, 2}));
  EXPECT_TRUE(areLoraFactors({6, 4, 2}, {3, 4, 2}, {6, 3}));
}

TEST(LoraFactors, OfOtherShapesDoNot) {
  EXPECT_FALSE(areLoraFactors({8, 6}, {2, 6}, {8, 3}));
  EXPECT_FALSE(areLoraFactors({8, 6}, {2, 5}, {8, 2}));
  EXPECT_FALSE(areLoraFactors({}, {2, 6}, {8, 2}));
  EXPECT_FALSE(areLoraFactors({8, 6}, {}, {8, 2}));
  // The number of elements matches, but the rows are not rows of the matrix.
  EXPECT_FALSE(areLoraFactors({6, 8}, {2, 6}, {8, 2}));
  EXPECT_FALSE(areLoraFactors({48}, {2, 6}, {8, 2}));
}

} // namespace
} // namespace reciperun::plan
