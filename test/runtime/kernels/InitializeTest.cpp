// Initial values of parameters: their distribution and independence of the
// layout.

#include "runtime/kernels/data_movement/Initialize.h"

#include "test/runtime/kernels/Harness.h"

#include <algorithm>
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

plan::Parameter drawnAs(const char* kind, double scale = 0) {
  plan::Parameter parameter = matrix("w", {1000, 300}, {"", ""});
  parameter.init = {kind, scale};
  return parameter;
}

/// Expects that `toUnit` maps the values to U(0, 1): checks their mean, 1/2,
/// their mean square, 1/3, and their extremes.
template <class F> void expectUniform(const Array& values, const F& toUnit) {
  double sum = 0, squares = 0, least = 1, most = 0;
  for (int64_t i = 0; i < values.size(); ++i) {
    const double x = toUnit(values.get(i));
    sum += x;
    squares += x * x;
    least = std::min(least, x);
    most = std::max(most, x);
  }
  // Five standard errors: sqrt(1/12) and sqrt(4/45) over the root of 300,000.
  const double n = double(values.size()), root = std::sqrt(n);
  EXPECT_NEAR(sum / n, 1.0 / 2, 5 * std::sqrt(1.0 / 12) / root);
  EXPECT_NEAR(squares / n, 1.0 / 3, 5 * std::sqrt(4.0 / 45) / root);
  // Rounding of the values and of `toUnit` is below 1e-6; an extreme misses its
  // bound by 1e-4 once in 10^13 times.
  EXPECT_NEAR(least, 0, 1e-4);
  EXPECT_NEAR(most, 1, 1e-4);
  EXPECT_GE(least, -1e-6);
  EXPECT_LE(most, 1 + 1e-6);
}

TEST(Initialize, UniformNumbersFillTheirBounds) {
  expectUniform(whole(drawnAs("uniform", 0.5), 3),
                [](double x) { return x + 0.5; });
}

TEST(Initialize, DecayRatesAreLogarithmsOfUniformNumbers) {
  expectUniform(whole(drawnAs("decay_rates"), 3),
                [](double x) { return (std::exp(x) - 1) / 15; });
}

TEST(Initialize, TheSoftplusOfTimeStepsHasUniformLogarithms) {
  expectUniform(whole(drawnAs("time_steps"), 3), [](double x) {
    return std::log(std::log1p(std::exp(x)) / 0.001) / std::log(100.0);
  });
}

TEST(Initialize, DependsOnSeedAndName) {
  const auto shape = std::vector<int64_t>{4, 4};
  const Array base = whole(matrix("a", shape, {"", ""}), 1);
  EXPECT_EQ(relativeError(whole(matrix("a", shape, {"", ""}), 1), base), 0);
  EXPECT_GT(relativeError(whole(matrix("b", shape, {"", ""}), 1), base), 0.1);
  EXPECT_GT(relativeError(whole(matrix("a", shape, {"", ""}), 2), base), 0.1);
}

/// Shards of a [6,10] parameter on 2 ranks hold the values of the whole.
void checkShards(size_t dim, const char* kind) {
  plan::Parameter parameter = matrix("w", {6, 10}, {"", ""});
  parameter.init.kind = kind;
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

constexpr const char* drawnKinds[] = {"normal", "uniform", "decay_rates",
                                      "time_steps"};

TEST(Initialize, ShardsOfRowsHoldTheWholesNumbers) {
  for (const char* kind : drawnKinds)
    checkShards(0, kind);
}
TEST(Initialize, ShardsOfColumnsHoldTheWholesNumbers) {
  for (const char* kind : drawnKinds)
    checkShards(1, kind);
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
