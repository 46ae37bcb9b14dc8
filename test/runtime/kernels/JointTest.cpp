// Fused ops give the same results as the separate ops. In double precision sums
// in two orders agree to some 1e-14 of their terms.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/Harness.h"

#include <cmath>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

constexpr double rounding = 1e-13;

void expectSame(const Array& got, const Array& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (int64_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got.get(i), wanted.get(i), rounding) << "at " << i;
}

TEST(Joint, LinearAdd) {
  Array x = real({2, 3, 8}, 1), w = real({5, 8}, 2), c = real({2, 3, 5}, 3);
  Array y(DType::f64, {2, 3, 5}), product = y, sum = y, inPlace = c;
  const Attributes attributes = {{"alpha", 0.7}};
  call(OpKind::Linear, {&x, &w}, {&product}, attributes);
  call(OpKind::Add, {&product, &c}, {&sum});
  call(OpKind::LinearAdd, {&x, &w, &c}, {&y}, attributes);
  expectSame(y, sum);
  call(OpKind::LinearAdd, {&x, &w, &inPlace}, {&inPlace}, attributes);
  expectSame(inPlace, sum);
}

TEST(Joint, MatmulsOfOneInput) {
  const int64_t widths[] = {5, 2, 7};
  for (size_t count : {2, 3}) {
    Array x = real({3, 2, 8}, 1), dx = real({3, 2, 8}, 2), dxAlone = dx;
    std::vector<Array> w, y, dy, dw;
    for (size_t i = 0; i < count; ++i) {
      w.push_back(real({widths[i], 8}, 3 + unsigned(i)));
      y.push_back(real({3, 2, widths[i]}, 6 + unsigned(i)));
      dy.push_back(real({3, 2, widths[i]}, 9 + unsigned(i)));
      dw.push_back(real({widths[i], 8}, 12 + unsigned(i)));
    }
    std::vector<Array> yAlone = y, dwAlone = dw;
    auto at = [&](std::vector<Array>& of, size_t i) {
      return i < count ? &of[i] : nullptr;
    };
    const Attributes alpha = {{"alpha", -0.5}};
    Attributes added = alpha;
    added.add("accumulate", true);
    for (size_t i = 0; i < count; ++i) {
      call(OpKind::Linear, {&x, &w[i]}, {&yAlone[i]}, alpha);
      call(OpKind::LinearDgrad, {&dy[i], &w[i]}, {&dxAlone}, added);
      call(OpKind::LinearWgrad, {&x, &dy[i]}, {&dwAlone[i]}, alpha);
    }
    call(OpKind::LinearJoint, {&x, at(w, 0), at(w, 1), at(w, 2)},
         {at(y, 0), at(y, 1), at(y, 2)}, alpha);
    call(OpKind::LinearJointDgrad,
         {at(dy, 0), at(dy, 1), at(dy, 2), at(w, 0), at(w, 1), at(w, 2)}, {&dx},
         added);
    call(OpKind::LinearJointWgrad, {&x, at(dy, 0), at(dy, 1), at(dy, 2)},
         {at(dw, 0), at(dw, 1), at(dw, 2)}, alpha);
    expectSame(dx, dxAlone);
    for (size_t i = 0; i < count; ++i) {
      expectSame(y[i], yAlone[i]);
      expectSame(dw[i], dwAlone[i]);
    }
    // Without `accumulate` the output is overwritten.
    call(OpKind::LinearJointDgrad,
         {at(dy, 0), at(dy, 1), at(dy, 2), at(w, 0), at(w, 1), at(w, 2)}, {&dx},
         alpha);
    Array again = real({3, 2, 8}, 20);
    call(OpKind::LinearJointDgrad,
         {at(dy, 0), at(dy, 1), at(dy, 2), at(w, 0), at(w, 1), at(w, 2)},
         {&again}, alpha);
    expectSame(again, dx);
  }
}

TEST(Joint, NormsAddToTheirGradient) {
  Array x = real({4, 13}, 1), w = real({13}, 2), dy = real({4, 13}, 3);
  Array mean = real({4}, 4), rstd = real({4}, 5), dw = real({13}, 6);
  Array before = real({4, 13}, 7), alone = before, sum = before;
  for (OpKind kind : {OpKind::RmsNormBackward, OpKind::LayerNormBackward}) {
    std::vector<Array*> inputs = {&dy, &x, &w, &rstd};
    if (kind == OpKind::LayerNormBackward)
      inputs = {&dy, &x, &w, &mean, &rstd};
    Array dx = before, dwAlone = dw, dwAdded = dw;
    call(kind, inputs, {&alone, &dwAlone});
    call(OpKind::Add, {&before, &alone}, {&sum});
    call(kind, inputs, {&dx, &dwAdded}, {{"accumulate", true}});
    expectSame(dx, sum);
    expectSame(dwAdded, dwAlone);
  }
}

TEST(Joint, SoftmaxStats) {
  Array logits = real({2, 3, 11}, 1);
  Array labels = Array::integers({2, 3}, {0, 10, 4, -1, 11, 7});
  Array m(DType::f64, {2, 3}), stats(DType::f64, {2, 3, 2}), mAlone = m,
                                                             statsAlone = stats;
  call(OpKind::SoftmaxMax, {&logits}, {&mAlone});
  call(OpKind::SoftmaxSum, {&logits, &mAlone, &labels}, {&statsAlone});
  call(OpKind::SoftmaxStats, {&logits, &labels}, {&m, &stats});
  expectSame(m, mAlone);
  expectSame(stats, statsAlone);
}

// In bf16 a sum is rounded once: 256 changes with an addend from 1 on, which
// two separately rounded addends of 0.75 would miss.
TEST(Joint, LinearAddRoundsOnce) {
  Array x(DType::bf16, {1, 2}), w(DType::bf16, {1, 2}), c(DType::bf16, {1, 1});
  for (int64_t i = 0; i < 2; ++i) {
    x.set(i, 0.75);
    w.set(i, 1);
  }
  c.set(0, 256);
  Array y = c;
  call(OpKind::LinearAdd, {&x, &w, &c}, {&y});
  EXPECT_EQ(y.get(0), 258);
}

} // namespace
} // namespace reciperun::kernels
