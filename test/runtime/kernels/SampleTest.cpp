// sample: the likeliest token, draws against their definition in double
// precision, and rows that are not finite.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/SampleRows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

const DType types[] = {DType::f32, DType::bf16, DType::f64};

/// The token of the only row.
double tokenOf(Array row, const RowDraw& draw = {}) {
  Array draws = drawsOf({draw});
  Array ids = Array::integers({1}, {-7});
  call(OpKind::Sample, {&row, &draws}, {&ids});
  return ids.get(0);
}

/// The tokens of a row, the likeliest first.
std::vector<int64_t> byLogit(const Array& row) {
  std::vector<int64_t> ids(size_t(row.size()));
  std::iota(ids.begin(), ids.end(), 0);
  std::ranges::stable_sort(
      ids, [&](int64_t a, int64_t b) { return row.get(a) > row.get(b); });
  return ids;
}

/// The token by the definition of `sample`, of tokens as byLogit gives them;
/// nullopt when the random number, or the sum that top-p compares, is too near
/// to a limit to tell.
std::optional<int64_t> defined(const Array& row, std::vector<int64_t> ids,
                               const RowDraw& draw) {
  constexpr double near = 1e-5; // errors of weights in fp32 are below
  std::vector<double> weights(ids.size());
  for (int64_t id : ids)
    weights[size_t(id)] =
        std::exp((row.get(id) - row.get(ids[0])) / draw.temperature);
  const auto weight = [&](int64_t id) { return weights[size_t(id)]; };
  const auto sum = [&] {
    double total = 0;
    for (int64_t id : ids)
      total += weight(id);
    return total;
  };
  std::erase_if(ids, [&](int64_t id) { return weight(id) < draw.minP; });
  if (draw.topK > 0 && size_t(draw.topK) < ids.size())
    ids.resize(size_t(draw.topK));
  if (draw.topP < 1) {
    const double least = draw.topP * sum();
    double running = 0;
    size_t count = 0;
    while (count < ids.size() && running < least)
      running += weight(ids[count++]);
    if (std::fabs(running - least) < near * least ||
        std::fabs(running - weight(ids[count - 1]) - least) < near * least)
      return std::nullopt;
    ids.resize(count);
  }
  std::ranges::sort(ids);
  const double all = sum(), target = draw.uniform * all;
  double running = 0;
  for (int64_t id : ids) {
    running += weight(id);
    if (std::fabs(running - target) < near * all)
      return std::nullopt;
    if (running > target)
      return id;
  }
  return std::nullopt;
}

TEST(Sample, FindsTheLargestOfEachRow) {
  for (DType type : types) {
    const int64_t rows = 6, width = 1000;
    Array logits = Array::random(type, {2, 3, width}, 1);
    Array draws = drawsOf(std::vector<RowDraw>(rows));
    Array ids = Array::integers({2, 3}, {-7, -7, -7, -7, -7, -7});
    for (int64_t i = 0; i < rows; ++i)
      logits.set(i * width + 191 * i, 9 + double(i));
    call(OpKind::Sample, {&logits, &draws}, {&ids});
    for (int64_t i = 0; i < rows; ++i)
      EXPECT_EQ(ids.get(i), 191 * double(i));
  }
}

TEST(Sample, TakesTheFirstOfEqualElements) {
  for (DType type : types) {
    Array row(type, {1, 100});
    EXPECT_EQ(tokenOf(row), 0);
    row.set(0, -0.0); // equals the others
    EXPECT_EQ(tokenOf(row), 0);
    row.set(40, 2);
    row.set(77, 2);
    EXPECT_EQ(tokenOf(row), 40);
    for (int64_t i = 0; i < row.size(); ++i)
      row.set(i, -3 - double(i % 4));
    EXPECT_EQ(tokenOf(row), 0);
  }
}

TEST(Sample, FindsNothingInARowThatIsNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (DType type : types)
    for (const RowDraw& draw : {RowDraw{}, {1, 0, 1, 0, 0.5}, {1, 3, .9, 0, 0}})
      for (double value : {std::nan(""), infinity, -infinity}) {
        Array row = Array::random(type, {1, 50}, 1);
        row.set(31, value);
        EXPECT_EQ(tokenOf(row, draw), -1) << value;
      }
}

TEST(Sample, DrawsAsDefined) {
  for (DType type : {DType::f32, DType::bf16})
    for (int64_t width : {1, 50, 3000}) {
      const Array row = Array::random(type, {1, width}, 1, /*scale=*/3);
      int compared = 0, apart = 0; // from the likeliest
      const std::vector<int64_t> ids = byLogit(row);
      const double likeliest = tokenOf(row);
      for (const RowDraw& draw : randomDraws(/*count=*/400, /*seed=*/2)) {
        const std::optional<int64_t> id = defined(row, ids, draw);
        if (!id)
          continue;
        EXPECT_EQ(tokenOf(row, draw), double(*id)) << describe(draw);
        ++compared;
        apart += double(*id) != likeliest;
      }
      EXPECT_GT(compared, 350);
      EXPECT_TRUE(width == 1 || apart > 200) << apart;
    }
}

} // namespace
} // namespace reciperun::kernels
