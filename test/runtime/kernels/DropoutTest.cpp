// Dropout: the share it keeps, and independence of the layout.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/Harness.h"

#include <cmath>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

Attributes attributes(double p, int64_t stream,
                      std::vector<std::string> axes = {}) {
  Attributes result = {{"p", p}, {"seed", int64_t(11)}, {"stream", stream}};
  if (!axes.empty())
    result.add("axes", std::move(axes));
  return result;
}

Array ones(std::vector<int64_t> shape) {
  Array result(DType::f32, std::move(shape));
  for (int64_t i = 0; i < result.size(); ++i)
    result.set(i, 1);
  return result;
}

TEST(Dropout, KeepsTheExpectationAndTheScale) {
  Array x = ones({4, 50, 500}), y = x;
  Array samples = Array::integers({4}, {0, 1, 2, 3}, DType::i64);
  Array places = placesOf(4, 50);
  call(OpKind::Dropout, {&x, &samples, &places}, {&y}, attributes(0.1, 1));
  int64_t kept = 0;
  for (int64_t i = 0; i < y.size(); ++i) {
    EXPECT_TRUE(y.get(i) == 0 || y.get(i) == double(float(1 / 0.9)));
    kept += y.get(i) != 0;
  }
  // Five standard errors of a share of 0.9 of 100,000.
  EXPECT_NEAR(double(kept) / double(y.size()), 0.9,
              5 * std::sqrt(0.09 / double(y.size())));
}

TEST(Dropout, DependsOnSampleAndStreamAlone) {
  Array x = ones({2, 3, 40}), a = x, b = x, c = x;
  Array samples = Array::integers({2}, {6, 7}, DType::i64);
  Array swapped = Array::integers({2}, {7, 6}, DType::i64);
  Array places = placesOf(2, 3);
  call(OpKind::Dropout, {&x, &samples, &places}, {&a}, attributes(0.5, 1));
  call(OpKind::Dropout, {&x, &swapped, &places}, {&b}, attributes(0.5, 1));
  call(OpKind::Dropout, {&x, &samples, &places}, {&c}, attributes(0.5, 2));
  for (int64_t i = 0; i < 120; ++i)
    EXPECT_EQ(a.get(i), b.get(120 + i));
  EXPECT_GT(relativeError(c, a), 0);
}

TEST(Dropout, ShardsDropWhatTheWholeDrops) {
  // [1,4,10] split into 2 x 2: the sequence along `cp` in two chunks per rank,
  // the width along `tp`, so that shards begin inside a block of four random
  // numbers.
  Array x = ones({1, 4, 10}), all = x;
  Array samples = Array::integers({1}, {5}, DType::i64);
  Array whole = placesOf(1, 4);
  call(OpKind::Dropout, {&x, &samples, &whole}, {&all}, attributes(0.5, 1));
  const plan::Mesh mesh{{{"cp", 2}, {"tp", 2}}, {}, 4};
  for (int rank = 0; rank < 4; ++rank) {
    const int64_t early = rank / 2;
    Array part = ones({1, 2, 5}), out = part;
    Array places = Array::integers({1, 2}, {early, 3 - early});
    call(OpKind::Dropout, {&part, &samples, &places}, {&out},
         attributes(0.5, 1, {"dp", "cp", "tp"}), {mesh, rank, 1});
    for (int64_t i = 0; i < out.size(); ++i) {
      const int64_t row = i / 5 == 0 ? early : 3 - early;
      const int64_t column = rank % 2 * 5 + i % 5;
      EXPECT_EQ(out.get(i), all.get(row * 10 + column));
    }
  }
}

TEST(Dropout, OfNothingKeepsAll) {
  Array x = Array::random(DType::bf16, {1, 9}, 1), y = x;
  Array samples = Array::integers({1}, {0}, DType::i64);
  Array places = placesOf(1, 9);
  call(OpKind::Dropout, {&x, &samples, &places}, {&y}, attributes(0, 1));
  EXPECT_EQ(relativeError(y, x), 0);
}

} // namespace
} // namespace reciperun::kernels
