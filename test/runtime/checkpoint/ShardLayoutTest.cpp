// Shards as runs of elements, compared with enumerating every element's
// coordinates.

#include "runtime/checkpoint/ShardLayout.h"

#include <gtest/gtest.h>

namespace reciperun::checkpoint {
namespace {

plan::Mesh meshOf(int dp, int tp) {
  plan::Mesh mesh;
  mesh.axes = {{"dp", dp}, {"tp", tp}};
  mesh.ranks = dp * tp;
  return mesh;
}

/// Indices in the whole tensor of the block's elements, by enumeration.
std::vector<int64_t> blockOf(const plan::Parameter& parameter, int parts,
                             int own) {
  std::vector<int64_t> numbers;
  int64_t total = 1;
  for (int64_t size : parameter.globalShape)
    total *= size;
  for (int64_t number = 0; number < total; ++number) {
    int64_t rest = number;
    bool mine = true;
    for (size_t i = parameter.globalShape.size(); i-- > 0;) {
      int64_t size = parameter.globalShape[i];
      int64_t index = rest % size;
      rest /= size;
      if (!parameter.shardAxes[i].empty())
        mine &= index / (size / parts) == own;
    }
    if (mine)
      numbers.push_back(number);
  }
  return numbers;
}

TEST(ShardLayout, OfARunOfALongerTensorCountsFromThatOnesStart) {
  ShardLayout block({{4, 2, 2}, {6, 3, 0}}), behind = block.behind(100);
  EXPECT_EQ(behind.elements(), block.elements());
  for (int64_t local = 0; local < block.elements(); ++local) {
    ShardLayout::Piece piece = block.pieceAt(local);
    ShardLayout::Piece moved = behind.pieceAt(local);
    EXPECT_EQ(moved.global, 100 + piece.global);
    EXPECT_EQ(moved.count, piece.count);
    EXPECT_EQ(behind.find(moved.global)->local, local);
  }
  EXPECT_FALSE(behind.find(100));
}

TEST(ShardLayout, AgreesWithCounting) {
  const std::vector<std::vector<std::string>> splits = {
      {"", "", ""}, {"tp", "", ""}, {"", "tp", ""}, {"", "", "tp"}};
  for (const auto& axes : splits)
    for (int rank = 0; rank < 4; ++rank) {
      plan::Parameter parameter;
      parameter.globalShape = {4, 6, 8};
      parameter.shardAxes = axes;
      ShardLayout layout(parameter, meshOf(2, 2), rank);
      std::vector<int64_t> expected = blockOf(parameter, 2, rank % 2);
      ASSERT_EQ(layout.elements(), int64_t(expected.size()));
      for (int64_t local = 0; local < layout.elements(); ++local) {
        ShardLayout::Piece piece = layout.pieceAt(local);
        EXPECT_EQ(piece.local, local);
        auto found = layout.find(piece.global);
        ASSERT_TRUE(found);
        EXPECT_EQ(found->local, local);
        EXPECT_EQ(found->count, piece.count);
        for (int64_t i = 0; i < piece.count; ++i)
          ASSERT_EQ(piece.global + i, expected[size_t(local + i)]);
      }
    }
}

TEST(ShardLayout, FindsNothingOutsideOfTheBlock) {
  ShardLayout block({{4, 2, 1}, {6, 3, 2}});
  int64_t inside = 0;
  for (int64_t global = 0; global < 24; ++global)
    inside += block.find(global).has_value();
  EXPECT_EQ(inside, block.elements());
  EXPECT_FALSE(block.find(0));
  EXPECT_FALSE(block.find(6 + 5));
  EXPECT_EQ(block.find(6 + 3)->local, 1);
  EXPECT_EQ(block.find(6 + 3)->count, 2);
}

TEST(ShardLayout, OwnersAreTheDistinctBlocks) {
  plan::Parameter parameter;
  parameter.globalShape = {4, 4};
  parameter.shardAxes = {"tp", ""};
  EXPECT_EQ(shardOwners(parameter, meshOf(2, 2)), (std::vector<int>{0, 1}));
  parameter.shardAxes = {"", ""};
  EXPECT_EQ(shardOwners(parameter, meshOf(2, 2)), (std::vector<int>{0}));
}

} // namespace
} // namespace reciperun::checkpoint
