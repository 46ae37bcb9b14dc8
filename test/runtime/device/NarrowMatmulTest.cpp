// Matmuls of few rows compared with plain sums, by all instructions that the
// processor has; and rows that are the same bits in every batch.

#include "runtime/device/cpu/NarrowMatmul.h"
#include "runtime/device/BFloat16.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace reciperun::device {
namespace {

using plan::DType;

template <class T> constexpr DType typeOf() {
  return sizeof(T) == 2 ? DType::bf16 : DType::f32;
}

/// Normally distributed numbers of type T.
template <class T> std::vector<T> drawn(int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<T> result;
  for (int64_t i = 0; i < count; ++i)
    result.push_back(T(normal(generator)));
  return result;
}

template <class In, class Out> struct Operands {
  Gemm::Shape shape;
  std::vector<In> a, w;
  std::vector<Out> before;

  Operands(int64_t m, int64_t n, int64_t k)
      : a(drawn<In>(m * k, 1)), w(drawn<In>(n * k, 2)),
        before(drawn<Out>(m * n, 3)) {
    shape.m = m;
    shape.n = n;
    shape.k = k;
    shape.transposeB = true;
    shape.input = typeOf<In>();
    shape.output = typeOf<Out>();
  }

  std::vector<Out> run(NarrowInstructions by, int threads = 2) const {
    AlignedBuffer packed;
    std::vector<Out> c = before;
    narrowMatmul(shape, a.data(), w.data(), c.data(), packed, threads, by);
    return c;
  }

  double expected(int64_t i, int64_t j) const {
    double sum = 0;
    for (int64_t p = 0; p < shape.k; ++p)
      sum += double(float(a[size_t(i * shape.k + p)])) *
             double(float(w[size_t(j * shape.k + p)]));
    const double all = double(shape.alpha) * sum;
    return shape.accumulate
               ? double(float(before[size_t(i * shape.n + j)])) + all
               : all;
  }
};

/// Whole vectors and tiles, and every kind of remainder.
template <class In, class Out> void checkSums(double tolerance) {
  const int64_t sizes[][3] = {
      {1, 1, 1},    {1, 40, 64}, {2, 5, 33},   {3, 17, 100}, {5, 64, 31},
      {8, 33, 129}, {9, 48, 96}, {17, 20, 70}, {33, 7, 45},  {64, 35, 65}};
  for (NarrowInstructions by : narrowInstructions())
    for (const auto& [m, n, k] : sizes)
      for (int variant = 0; variant < 4; ++variant) {
        Operands<In, Out> operands(m, n, k);
        operands.shape.accumulate = variant & 1;
        operands.shape.alpha = variant & 2 ? 0.5f : 1.0f;
        ASSERT_TRUE(isNarrow(operands.shape));
        const std::vector<Out> c = operands.run(by);
        double error = 0, largest = 0;
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            const double expected = operands.expected(i, j);
            const double found = double(float(c[size_t(i * n + j)]));
            error = std::max(error, std::abs(found - expected));
            largest = std::max(largest, std::abs(expected));
          }
        EXPECT_LT(error, tolerance * largest)
            << m << " " << n << " " << k << " variant " << variant
            << " instructions " << int(by);
      }
}

// Sums of 129 terms: a few times the rounding error of f32.
TEST(NarrowMatmul, F32) {
  checkSums<float, float>(1e-6);
}
TEST(NarrowMatmul, Bf16SumsInF32) {
  checkSums<bf16, float>(1e-6);
}
// Only the result is rounded, to 8 significant bits.
TEST(NarrowMatmul, Bf16ResultIsRoundedOnce) {
  checkSums<bf16, bf16>(0x1p-8);
}

/// A row is the same bits in every batch, at every place of it.
template <class In> void checkRows() {
  constexpr int64_t most = 64, n = 50, k = 300;
  for (NarrowInstructions by : narrowInstructions()) {
    const Operands<In, float> all(most, n, k);
    const std::vector<float> whole = all.run(by);
    for (int64_t m : {1, 2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 63})
      for (int64_t first : {int64_t(0), most - m}) {
        Operands<In, float> some(m, n, k);
        std::copy_n(all.a.begin() + first * k, m * k, some.a.begin());
        const std::vector<float> c = some.run(by, 1 + int(m % 3));
        EXPECT_TRUE(std::equal(c.begin(), c.end(), whole.begin() + first * n))
            << m << " rows from " << first << " instructions " << int(by);
      }
  }
}

TEST(NarrowMatmul, RowsDoNotDependOnTheBatch) {
  checkRows<float>();
  checkRows<bf16>();
}

TEST(NarrowMatmul, LeavesOtherShapesToTheLibrary) {
  Gemm::Shape shape = Operands<float, float>(64, 1, 1).shape;
  EXPECT_TRUE(isNarrow(shape));
  shape.m = 65;
  EXPECT_FALSE(isNarrow(shape));
  shape.m = 1;
  shape.transposeA = true;
  EXPECT_FALSE(isNarrow(shape));
  shape.transposeA = shape.transposeB = false;
  EXPECT_FALSE(isNarrow(shape));
}

} // namespace
} // namespace reciperun::device
