// Matmuls with weights in 8 and 4 bits compared with f64 sums of the
// dequantized values, in each instruction set of this processor.

#include "runtime/device/Float8.h"
#include "runtime/kernels/dense/QuantizedRows.h"
#include "runtime/ops/OpKind.h"
#include "runtime/sizes/WeightScales.h"
#include "test/runtime/kernels/Harness.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;
using sizes::WeightFormat;
using sizes::WeightScales;

constexpr WeightFormat formats[] = {WeightFormat::fp8, WeightFormat::int8,
                                    WeightFormat::int4};
constexpr WeightScales scaleKinds[] = {WeightScales::tensor, WeightScales::rows,
                                       WeightScales::groups,
                                       WeightScales::squares};

int64_t perByte(WeightFormat format) {
  return format == WeightFormat::int4 ? 2 : 1;
}

/// A weight with all stored numbers of its format and positive scales.
struct Weight {
  WeightFormat format;
  WeightScales kind;
  int64_t n, k;
  Array stored, scale;

  Weight(WeightFormat format, WeightScales kind, int64_t n, int64_t k)
      : format(format), kind(kind), n(n), k(k),
        stored(sizes::storedType(format), {n, k / perByte(format)}),
        scale(DType::f32, sizes::scaleShape(kind, n, k)) {
    std::mt19937 random(7);
    auto* bytes = static_cast<uint8_t*>(stored.tensor().data);
    for (int64_t i = 0; i < stored.size(); ++i) {
      bytes[i] = uint8_t(random());
      if (format == WeightFormat::fp8 && (bytes[i] & 0x7f) == 0x7f)
        bytes[i] = 1; // NaN is not stored; 1 is the least subnormal number
    }
    for (int64_t i = 0; i < scale.size(); ++i)
      scale.set(i, std::exp2(double(random() % 64) / 16 - 4));
  }

  double value(int64_t row, int64_t column) {
    const int64_t at = row * k + column;
    const auto* bytes = static_cast<const uint8_t*>(stored.tensor().data);
    switch (format) {
    case WeightFormat::fp8:
      return stored.get(at);
    case WeightFormat::int8:
      return int8_t(bytes[at]);
    case WeightFormat::int4:
      return double(bytes[at / 2] >> at % 2 * 4 & 15) - 8;
    }
    return 0;
  }

  double scaleOf(int64_t row, int64_t column) const {
    const int64_t across = (k + 127) / 128;
    switch (kind) {
    case WeightScales::tensor:
      return scale.get(0);
    case WeightScales::rows:
      return scale.get(row);
    case WeightScales::groups:
      return scale.get(row * across + column / 128);
    case WeightScales::squares:
      return scale.get(row / 128 * across + column / 128);
    }
    return 0;
  }
};

std::string nameOf(const Weight& weight) {
  return std::string(sizes::weightFormatName(weight.format)) + " " +
         sizes::weightScalesName(weight.kind) + " " + std::to_string(weight.n) +
         " x " + std::to_string(weight.k);
}

/// Compares y with sums in f64. `rounding` bounds the relative error of each
/// product, `final` that of the rounded result.
void expectProduct(Weight& weight, const Array& x, const Array* inScale,
                   double alpha, const Array& y, double rounding,
                   double final) {
  const int64_t rows = x.size() / weight.k;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < weight.n; ++j) {
      double sum = 0, magnitudes = 0;
      for (int64_t p = 0; p < weight.k; ++p) {
        const double term = x.get(i * weight.k + p) *
                            (inScale ? inScale->get(p) : 1) *
                            weight.value(j, p) * weight.scaleOf(j, p);
        sum += term;
        magnitudes += std::abs(term);
      }
      ASSERT_NEAR(y.get(i * weight.n + j), alpha * sum,
                  std::abs(alpha) * magnitudes * rounding +
                      std::abs(alpha * sum) * final)
          << nameOf(weight) << ", row " << i << " of " << rows << ", output "
          << j;
    }
}

Array multiply(Weight& weight, Array& x, Array* inScale, double alpha) {
  const int64_t rows = x.size() / weight.k;
  Array y(x.dtype(), {rows, weight.n});
  Array absent;
  call(OpKind::QuantizedLinear,
       {&x, &weight.stored, &weight.scale, inScale ? inScale : &absent}, {&y},
       {{"scales", std::string(sizes::weightScalesName(weight.kind))},
        {"alpha", alpha}});
  return y;
}

// A chain of k / 16 additions in f32 rounds by at most k / 16 * 2^-24 of the
// magnitudes.
double chainError(int64_t k) {
  return double(k + 64) / 16 * 0x1p-24;
}

TEST(QuantizedLinear, IsTheDefinitionInF32) {
  for (WeightFormat format : formats)
    for (WeightScales kind : scaleKinds)
      for (int64_t rows : {1, 2, 3, 5, 9, 70}) {
        Weight weight(format, kind, rows < 9 ? 150 : 70, rows < 5 ? 300 : 256);
        Array x = Array::random(DType::f32, {rows, weight.k}, 3);
        expectProduct(weight, x, nullptr, 1, multiply(weight, x, nullptr, 1),
                      chainError(weight.k), 0x1p-23);
      }
}

TEST(QuantizedLinear, IsTheDefinitionInBf16) {
  for (WeightFormat format : formats)
    for (WeightScales kind : scaleKinds)
      for (int64_t rows : {1, 2, 4, 8, 11, 40}) {
        Weight weight(format, kind, 67, 390);
        Array x = Array::random(DType::bf16, {rows, weight.k}, 4);
        // Many rows round the scaled weights to bf16.
        const double rounding = rows > 32 ? 0x1p-9 : 0;
        expectProduct(weight, x, nullptr, 1, multiply(weight, x, nullptr, 1),
                      chainError(weight.k) + rounding, 0x1p-8);
      }
}

TEST(QuantizedLinear, ScalesItsInputAndOutput) {
  for (DType type : {DType::f32, DType::bf16})
    for (int64_t rows : {3, 50}) {
      Weight weight(WeightFormat::int4, WeightScales::groups, 33, 256);
      Array x = Array::random(type, {rows, weight.k}, 5);
      Array inScale = Array::random(DType::f32, {weight.k}, 6);
      // The scaled x is rounded to bf16, as are scaled weights of many rows.
      const bool isNarrow = type == DType::bf16;
      expectProduct(weight, x, &inScale, 0.25,
                    multiply(weight, x, &inScale, 0.25),
                    chainError(weight.k) + (isNarrow ? 0x1p-8 : 0x1p-23),
                    isNarrow ? 0x1p-8 : 0x1p-23);
    }
}

TEST(QuantizedLinear, GivesARowTheSameBitsInAnyCompany) {
  for (DType type : {DType::f32, DType::bf16})
    for (WeightFormat format : formats)
      for (WeightScales kind : scaleKinds) {
        Weight weight(format, kind, 75, 300);
        Array all = Array::random(type, {32, weight.k}, 8);
        Array together = multiply(weight, all, nullptr, 1);
        for (int64_t first = 0, count = 1; first < 32;
             first += count, count = count % 7 + 1) {
          count = std::min(count, 32 - first);
          Array some(type, {count, weight.k});
          for (int64_t i = 0; i < some.size(); ++i)
            some.set(i, all.get(first * weight.k + i));
          Array apart = multiply(weight, some, nullptr, 1);
          for (int64_t i = 0; i < apart.size(); ++i)
            ASSERT_EQ(apart.get(i), together.get(first * weight.n + i))
                << nameOf(weight) << ", " << count << " rows from " << first;
        }
      }
}

// The op uses only the fastest path; the others are called here.
TEST(QuantizedRows, AllPathsMultiply) {
  for (const RowsPath& path : rowsPaths())
    for (WeightFormat format : formats)
      for (WeightScales kind : scaleKinds)
        for (int64_t rows : {1, 2, 3, 4, 7}) {
          SCOPED_TRACE(path.name);
          Weight weight(format, kind, 19, 300);
          Array x = Array::random(DType::bf16, {rows, weight.k}, 9);
          const int64_t stride = 384;
          Array prepared(path.xType, {rowsAtOnce, stride});
          const uint8_t* order = path.order(format);
          for (int64_t i = 0; i < rows * stride; ++i) {
            const int64_t p = i % stride / 128 * 128 + order[i % 128];
            if (p < weight.k)
              prepared.set(i, x.get(i / stride * weight.k + p));
          }
          const QuantizedWeight view = {
              format,   weight.stored.tensor().as<uint8_t>(), weight.n,
              weight.k, weight.scale.tensor().as<float>(),    kind};
          std::vector<float> sums(size_t(rowsAtOnce * outputsAtOnce));
          path.multiply({&view, prepared.tensor().data, stride, rows, 0,
                         weight.n, sums.data()});
          Array y(DType::f32, {rows, weight.n});
          for (int64_t i = 0; i < y.size(); ++i)
            y.set(i, sums[size_t(i / weight.n * outputsAtOnce + i % weight.n)]);
          expectProduct(weight, x, nullptr, 1, y, chainError(weight.k),
                        0x1p-23);
        }
}

} // namespace
} // namespace reciperun::kernels
