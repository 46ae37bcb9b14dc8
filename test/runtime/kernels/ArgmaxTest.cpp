// argmax: the largest element, the first of equal ones, and rows that are not
// finite.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/Harness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

const DType types[] = {DType::f32, DType::bf16, DType::f64};

/// The index that argmax finds in the only row.
double argmaxOf(Array row) {
  Array ids = Array::integers({1}, {-7});
  call(OpKind::Argmax, {&row}, {&ids});
  return ids.get(0);
}

TEST(Argmax, FindsTheLargestOfEachRow) {
  for (DType type : types) {
    const int64_t rows = 6, width = 1000;
    Array logits = Array::random(type, {2, 3, width}, 1);
    Array ids = Array::integers({2, 3}, {-7, -7, -7, -7, -7, -7});
    for (int64_t i = 0; i < rows; ++i)
      logits.set(i * width + 191 * i, 9 + double(i));
    call(OpKind::Argmax, {&logits}, {&ids});
    for (int64_t i = 0; i < rows; ++i)
      EXPECT_EQ(ids.get(i), 191 * double(i));
  }
}

TEST(Argmax, TakesTheFirstOfEqualElements) {
  for (DType type : types) {
    Array row(type, {1, 100});
    EXPECT_EQ(argmaxOf(row), 0);
    row.set(0, -0.0); // equals the others
    EXPECT_EQ(argmaxOf(row), 0);
    row.set(40, 2);
    row.set(77, 2);
    EXPECT_EQ(argmaxOf(row), 40);
    for (int64_t i = 0; i < row.size(); ++i)
      row.set(i, -3 - double(i % 4));
    EXPECT_EQ(argmaxOf(row), 0);
  }
}

TEST(Argmax, FindsNothingInARowThatIsNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (DType type : types)
    for (double value : {std::nan(""), infinity, -infinity}) {
      Array row = Array::random(type, {1, 50}, 1);
      row.set(31, value);
      EXPECT_EQ(argmaxOf(row), -1) << value;
    }
}

} // namespace
} // namespace reciperun::kernels
