// First values of parameters: their distribution, and that no layout changes
// them.

#include "runtime/kernels/Initialize.h"

#include "test/runtime/kernels/Harness.h"

#include <cmath>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;

plan::Parameter matrix(const std::string& name, std::vector<int64_t> shape,
                       std::vector<std::string> axes) {
  plan::Parameter parameter;
  parameter.name = name;
  parameter.globalShape = std::move(shape);
  parameter.shardAxes = std::move(axes);
  parameter.init = {"normal", 0.02};
  return parameter;
}

Array whole(const plan::Parameter& parameter, int64_t seed,
            DType type = DType::f32) {
  Array values(type, parameter.globalShape);
  initialize(parameter, seed, {}, 0, 0, values.tensor(), 1);
  return values;
}

TEST(Initialize, HasTheMomentsOfTheNormalDistribution) {
  const Array values = whole(matrix("w", {1000, 300}, {"", ""}), 3);
  double sum = 0, squares = 0, fourth = 0;
  for (int64_t i = 0; i < values.size(); ++i) {
    const double x = values.get(i) / 0.02;
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  // Five standard errors: 1, sqrt(2) and sqrt(96) over the root of 300,000.
  const double n = double(values.size()), root = std::sqrt(n);
  EXPECT_NEAR(sum / n, 0, 5 / root);
  EXPECT_NEAR(squares / n, 1, 5 * std::sqrt(2.0) / root);
  EXPECT_NEAR(fourth / n, 3, 5 * std::sqrt(96.0) / root);
}

TEST(Initialize, DependsOnSeedAndName) {
  const auto shape = std::vector<int64_t>{4, 4};
  const Array base = whole(matrix("a", shape, {"", ""}), 1);
  EXPECT_EQ(relativeError(whole(matrix("a", shape, {"", ""}), 1), base), 0);
  EXPECT_GT(relativeError(whole(matrix("b", shape, {"", ""}), 1), base), 0.1);
  EXPECT_GT(relativeError(whole(matrix("a", shape, {"", ""}), 2), base), 0.1);
}

/// Shards of a [6,10] parameter on 2 ranks hold the whole's numbers.
void checkShards(size_t dim) {
  plan::Parameter parameter = matrix("w", {6, 10}, {"", ""});
  const Array all = whole(parameter, 5);
  parameter.shardAxes[dim] = "tp";
  const plan::Mesh mesh{{{"dp", 1}, {"tp", 2}}, {}, 2};
  std::vector<int64_t> local = parameter.globalShape;
  local[dim] /= 2;
  for (int rank = 0; rank < 2; ++rank) {
    Array shard(DType::f32, local);
    initialize(parameter, 5, mesh, rank, 0, shard.tensor(), 2);
    for (int64_t i = 0; i < shard.size(); ++i) {
      int64_t row = i / local[1], column = i % local[1];
      (dim == 0 ? row : column) += rank * local[dim];
      EXPECT_EQ(shard.get(i), all.get(row * 10 + column));
    }
  }
}

TEST(Initialize, ShardsOfRowsHoldTheWholesNumbers) {
  checkShards(0);
}
TEST(Initialize, ShardsOfColumnsHoldTheWholesNumbers) {
  checkShards(1);
}

TEST(Initialize, APartOfAShardIsAskedForByItsFirstElement) {
  const plan::Parameter parameter = matrix("w", {7, 9}, {"", ""});
  const Array all = whole(parameter, 5);
  Array part(DType::f32, {20});
  initialize(parameter, 5, {}, 0, 31, part.tensor(), 2);
  for (int64_t i = 0; i < part.size(); ++i)
    EXPECT_EQ(part.get(i), all.get(31 + i));
}

TEST(Initialize, ThreadsAndTypesChangeNothingButRounding) {
  const plan::Parameter parameter = matrix("w", {100, 121}, {"", ""});
  const Array one = whole(parameter, 9);
  Array many(DType::f32, parameter.globalShape);
  initialize(parameter, 9, {}, 0, 0, many.tensor(), 3);
  EXPECT_EQ(relativeError(many, one), 0);
  EXPECT_EQ(relativeError(whole(parameter, 9, DType::f64), one), 0);
  EXPECT_EQ(
      relativeError(whole(parameter, 9, DType::bf16), one.cast(DType::bf16)),
      0);
}

TEST(Initialize, ZerosAndOnes) {
  plan::Parameter parameter = matrix("w", {5}, {""});
  parameter.init = {"ones", 0};
  EXPECT_EQ(whole(parameter, 1, DType::bf16).get(4), 1);
  parameter.init = {"zeros", 0};
  EXPECT_EQ(whole(parameter, 1).get(4), 0);
}

} // namespace
} // namespace reciperun::kernels
