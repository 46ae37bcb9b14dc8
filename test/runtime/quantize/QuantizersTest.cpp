// Quantizers compared with their definition, and the bytes that they make.

#include "runtime/quantize/Quantizers.h"

#include "runtime/quantize/QuantizationError.h"

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <utility>

#include <gtest/gtest.h>

namespace reciperun::quantize {
namespace {

constexpr WeightFormat formats[] = {WeightFormat::fp8, WeightFormat::int8,
                                    WeightFormat::int4};
constexpr WeightScales kinds[] = {WeightScales::tensor, WeightScales::rows,
                                  WeightScales::groups, WeightScales::squares};

/// Rows of very different magnitudes; every seventh is 0.
std::vector<float> unevenRows(int64_t rows, int64_t columns) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(size_t(rows * columns));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      values[size_t(i * columns + j)] =
          i % 7 == 3 ? 0
                     : normal(random) * std::ldexp(1.0f, int(i % 9) * 2 - 9);
  return values;
}

std::string nameOf(const Scheme& scheme) {
  return std::string(sizes::weightFormatName(scheme.format)) + " " +
         sizes::weightScalesName(scheme.scales);
}

/// The block of an element, as a row and a column of blocks.
std::pair<int64_t, int64_t> blockOf(WeightScales scales, int64_t row,
                                    int64_t column) {
  switch (scales) {
  case WeightScales::tensor:
    return {0, 0};
  case WeightScales::rows:
    return {row, 0};
  case WeightScales::groups:
    return {row, column / 128};
  case WeightScales::squares:
    return {row / 128, column / 128};
  }
  return {};
}

/// The error of rounding to nearest: half a step of 2^-3 of the value or of
/// 2^-9 for f8e4m3, half of 1 for integers; 2^-20 for the scale's rounding.
float mostError(WeightFormat format, float value, float scale) {
  if (format == WeightFormat::fp8)
    return std::max(std::abs(value) * 0x1p-4f, scale * 0x1p-10f) * 1.0001f;
  return scale * 0.50001f;
}

TEST(Quantizers, RoundToNearestOfTheirBlock) {
  const int64_t rows = 150, columns = 300;
  const std::vector<float> values = unevenRows(rows, columns);
  for (WeightFormat format : formats)
    for (WeightScales scales : kinds) {
      const Scheme scheme = {format, scales};
      auto made = quantizeMatrix(scheme, values, columns, 2);
      ASSERT_TRUE(made) << made.status().message();
      const std::vector<float> back = dequantizeMatrix(*made, 2);
      std::map<std::pair<int64_t, int64_t>, float> most;
      for (int64_t i = 0; i < rows * columns; ++i) {
        float& known = most[blockOf(scales, i / columns, i % columns)];
        known = std::max(known, std::abs(values[size_t(i)]));
      }
      for (int64_t i = 0; i < rows * columns; ++i) {
        const float scale = most[blockOf(scales, i / columns, i % columns)] /
                            sizes::largestStored(format);
        ASSERT_LE(std::abs(back[size_t(i)] - values[size_t(i)]),
                  mostError(format, values[size_t(i)], scale))
            << nameOf(scheme) << ", element " << i;
      }
    }
}

TEST(Quantizers, DoNotDependOnRunsAndThreads) {
  const int64_t rows = 300, columns = 260;
  const std::vector<float> values = unevenRows(rows, columns);
  for (WeightFormat format : formats)
    for (WeightScales scales : kinds) {
      const Scheme scheme = {format, scales, true};
      auto whole = quantizeMatrix(scheme, values, columns, 3);
      ASSERT_TRUE(whole);
      const float largest = largestMagnitude(values, 1);
      const int64_t run = 128, bytes = rowBytes(scheme, columns);
      for (int64_t row = 0; row < rows; row += run) {
        const int64_t count = std::min(run, rows - row);
        std::vector<uint8_t> data(size_t(count * bytes));
        std::vector<float> some(size_t(scaleCount(scheme, count, columns)));
        ASSERT_TRUE(
            quantizeRows(scheme,
                         std::span(values).subspan(size_t(row * columns),
                                                   size_t(count * columns)),
                         columns, largest, data, some, 1)
                .isOk());
        EXPECT_TRUE(std::equal(data.begin(), data.end(),
                               whole->data.begin() + row * bytes))
            << nameOf(scheme);
        const int64_t before = scales == WeightScales::tensor
                                   ? 0
                                   : scaleCount(scheme, row, columns);
        EXPECT_TRUE(std::equal(some.begin(), some.end(),
                               whole->scales.begin() + before))
            << nameOf(scheme);
      }
    }
}

TEST(Quantizers, StoreTheBytesOfTheirLayouts) {
  const std::vector<float> values = {7, -7, 1, -2, 0, 3.4f, 3.5f, 4.5f};
  auto int4 =
      quantizeMatrix({WeightFormat::int4, WeightScales::rows}, values, 8, 1);
  ASSERT_TRUE(int4);
  // value + 8; the even element in the low half. 3.5 and 4.5 are ties.
  EXPECT_EQ(int4->data, (std::vector<uint8_t>{0x1f, 0x69, 0xb8, 0xcc}));
  EXPECT_EQ(int4->scales, std::vector<float>{1});
  auto int8 = quantizeMatrix({WeightFormat::int8, WeightScales::tensor},
                             std::vector<float>{254, -254, 3, -2}, 4, 1);
  ASSERT_TRUE(int8);
  EXPECT_EQ(int8->data, (std::vector<uint8_t>{127, 0x81, 2, 0xff}));
  auto fp8 = quantizeMatrix({WeightFormat::fp8, WeightScales::tensor},
                            std::vector<float>{896, 2, -1, 0}, 4, 1);
  ASSERT_TRUE(fp8);
  EXPECT_EQ(fp8->data, (std::vector<uint8_t>{0x7e, 0x38, 0xb0, 0}));
  EXPECT_EQ(fp8->scales, std::vector<float>{2});
}

TEST(Quantizers, ClipWhereThatLowersTheError) {
  const int64_t columns = 1024;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> values(size_t(64 * columns));
  for (float& value : values)
    value = normal(random);
  auto errorOf = [&](bool searches) {
    auto made =
        quantizeMatrix({WeightFormat::int4, WeightScales::groups, searches},
                       values, columns, 2);
    return compare(values, dequantizeMatrix(*made, 2)).relative();
  };
  // The error of normal numbers in groups of 128: their maximum is about 2.7,
  // a step 2.7 / 7, and its error the step over the root of 12 = 0.111.
  EXPECT_NEAR(errorOf(false), 0.111, 0.01);
  EXPECT_LT(errorOf(true), errorOf(false));
}

// The largest number is clipped, unless its column counts for more.
TEST(Quantizers, ClipByTheImportanceOfColumns) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> values(128), importance(128, 1.0f);
  for (float& value : values)
    value = normal(random);
  values[5] = 4;
  const Scheme scheme = {WeightFormat::int4, WeightScales::groups, true};
  auto plain = quantizeMatrix(scheme, values, 128, 1);
  EXPECT_LT(plain->scales[0], 4.0f / 7);
  importance[5] = 1000;
  auto weighted = quantizeMatrix(scheme, values, 128, 1, importance);
  EXPECT_EQ(weighted->scales[0], 4.0f / 7);
}

TEST(Quantizers, RefuseNumbersThatAreNotFinite) {
  for (float bad : {std::numeric_limits<float>::quiet_NaN(),
                    std::numeric_limits<float>::infinity()})
    for (WeightFormat format : formats)
      for (WeightScales scales : kinds) {
        std::vector<float> values(256, 1.0f);
        values[130] = bad;
        auto made = quantizeMatrix({format, scales}, values, 128, 1);
        ASSERT_FALSE(made);
        EXPECT_NE(made.status().message().find("NaN or infinity"),
                  std::string::npos);
      }
}

TEST(Quantizers, KeepTinyBlocks) {
  std::vector<float> values(128, 1e-42f);
  for (WeightFormat format : formats) {
    auto made = quantizeMatrix({format, WeightScales::rows}, values, 128, 1);
    ASSERT_TRUE(made);
    for (float value : dequantizeMatrix(*made, 1))
      EXPECT_EQ(value, 0); // below half of the smallest step
  }
}

} // namespace
} // namespace reciperun::quantize
