// Matmuls compared with plain triple loops, in every arrangement.

#include "runtime/device/cpu/Gemm.h"
#include "runtime/device/BFloat16.h"
#include "runtime/device/cpu/TileMatmul.h"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace reciperun::device {
namespace {

using plan::DType;

template <class T> std::vector<T> numbers(int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<T> result;
  for (int64_t i = 0; i < count; ++i)
    result.push_back(T(normal(generator)));
  return result;
}

/// max |c - expected| / max |expected| over one matmul.
template <class In, class Out>
double errorOf(const Gemm::Shape& shape, Gemm& gemm) {
  const auto a = numbers<In>(shape.m * shape.k, 1);
  const auto b = numbers<In>(shape.k * shape.n, 2);
  const auto before = numbers<Out>(shape.m * shape.n, 3);
  auto c = before;
  const Status status = gemm.run(shape, a.data(), b.data(), c.data());
  EXPECT_TRUE(status.isOk()) << status.message();
  double error = 0, largest = 0;
  for (int64_t i = 0; i < shape.m; ++i)
    for (int64_t j = 0; j < shape.n; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < shape.k; ++p)
        sum += double(a[size_t(shape.transposeA ? p * shape.m + i
                                                : i * shape.k + p)]) *
               double(b[size_t(shape.transposeB ? j * shape.k + p
                                                : p * shape.n + j)]);
      const size_t at = size_t(i * shape.n + j);
      double expected = double(shape.alpha) * sum;
      if (shape.accumulate)
        expected += double(before[at]);
      error = std::max(error, std::abs(double(c[at]) - expected));
      largest = std::max(largest, std::abs(expected));
    }
  return error / largest;
}

/// Every arrangement of several sizes, including a single row and column.
template <class In, class Out>
void check(DType input, DType output, double tolerance) {
  Gemm gemm(2);
  const int64_t sizes[][3] = {
      {1, 1, 1}, {5, 70, 33}, {65, 96, 129}, {1, 64, 7}};
  for (const auto& [m, n, k] : sizes)
    for (int variant = 0; variant < 16; ++variant) {
      Gemm::Shape shape{m, n, k};
      shape.transposeA = variant & 1;
      shape.transposeB = variant & 2;
      shape.accumulate = variant & 4;
      shape.alpha = variant & 8 ? 0.5f : 1.0f;
      shape.input = input;
      shape.output = output;
      EXPECT_LT((errorOf<In, Out>(shape, gemm)), tolerance)
          << m << " " << n << " " << k << " variant " << variant;
    }
}

// Sums of 129 terms: a few times the rounding error of the accumulator type.
TEST(Gemm, F64) {
  check<double, double>(DType::f64, DType::f64, 1e-14);
}
TEST(Gemm, F32) {
  check<float, float>(DType::f32, DType::f32, 1e-6);
}
TEST(Gemm, Bf16SumsInF32) {
  check<bf16, float>(DType::bf16, DType::f32, 1e-6);
}
// Only the result is rounded, to 8 significant bits.
TEST(Gemm, Bf16ResultIsRoundedOnce) {
  check<bf16, bf16>(DType::bf16, DType::bf16, 0x1p-8);
}

TEST(Gemm, ScratchIsShared) {
  Gemm gemm(1);
  const Gemm::Shape large{64, 512, 512, true, false};
  const Gemm::Shape small{64, 64, 64, true, false};
  errorOf<float, float>(large, gemm);
  const size_t bytes = gemm.scratchBytes();
  errorOf<float, float>(small, gemm);
  EXPECT_EQ(gemm.scratchBytes(), bytes);
}

template <class T> void checkTile(int64_t m, int64_t vectors, int64_t k) {
  const int64_t n = vectors * lanes<T>;
  const auto a = numbers<T>(k * m, 1), b = numbers<T>(k * n, 2);
  auto c = numbers<T>(m * n, 3);
  const auto before = c;
  // A transposed: column stride m.
  tileMatmul(m, n, k, Strided<T>{a.data(), 1, m}, b.data(), n, c.data(), n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = before[size_t(i * n + j)];
      for (int64_t p = 0; p < k; ++p)
        sum += double(a[size_t(p * m + i)]) * double(b[size_t(p * n + j)]);
      EXPECT_NEAR(c[size_t(i * n + j)], sum, 1e-4);
    }
}

TEST(TileMatmul, EveryRemainder) {
  for (int64_t m = 1; m <= 13; ++m)
    for (int64_t vectors = 1; vectors <= 7; ++vectors) {
      checkTile<float>(m, vectors, 5);
      checkTile<double>(m, vectors, 5);
    }
}

} // namespace
} // namespace reciperun::device
