// Conversions of stored elements, compared with values computed by hand from
// IEEE 754 and checked exhaustively for properties.

#include "runtime/checkpoint/Elements.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace reciperun::checkpoint {
namespace {

TEST(Elements, ReadsHalfPrecision) {
  EXPECT_EQ(f16ToFloat(0x3c00), 1.0f);
  EXPECT_EQ(f16ToFloat(0xc000), -2.0f);
  EXPECT_EQ(f16ToFloat(0x3555), 0.333251953125f);
  EXPECT_EQ(f16ToFloat(0x7bff), 65504.0f);   // the largest
  EXPECT_EQ(f16ToFloat(0x0400), 0x1p-14f);   // the smallest normal
  EXPECT_EQ(f16ToFloat(0x0001), 0x1p-24f);   // the smallest subnormal
  EXPECT_EQ(f16ToFloat(0x03ff), 0x3ffp-24f); // the largest subnormal
  EXPECT_EQ(f16ToFloat(0x7c00), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(f16ToFloat(0x7e00)));
  EXPECT_TRUE(std::signbit(f16ToFloat(0x8000)));
}

TEST(Elements, RoundsToBf16ToNearestEven) {
  EXPECT_EQ(floatToBf16(1.0f), 0x3f80);
  EXPECT_EQ(floatToBf16(std::bit_cast<float>(0x3f808000u)), 0x3f80); // tie
  EXPECT_EQ(floatToBf16(std::bit_cast<float>(0x3f818000u)), 0x3f82); // tie
  EXPECT_EQ(floatToBf16(std::bit_cast<float>(0x3f808001u)), 0x3f81);
  EXPECT_EQ(floatToBf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_TRUE(
      std::isnan(bf16ToFloat(floatToBf16(std::bit_cast<float>(0x7f800001u)))));
}

TEST(Elements, KeepsEveryBf16ByWayOfFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = bf16ToFloat(uint16_t(bits));
    if (!std::isnan(value)) {
      ASSERT_EQ(floatToBf16(value), bits);
    }
  }
}

TEST(Elements, ConvertsBetweenAllTypes) {
  const double values[] = {0, 1, -2.5, 0.15625}; // exact in every type
  const uint16_t half[] = {0, 0x3c00, 0xc100, 0x3100};
  const uint16_t brain[] = {0, 0x3f80, 0xc020, 0x3e20};
  float single[4];
  convertElements(ElementType::f16, reinterpret_cast<const std::byte*>(half),
                  plan::DType::f32, reinterpret_cast<std::byte*>(single), 4);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(single[i], values[i]);
  uint16_t narrowed[4];
  convertElements(ElementType::f64, reinterpret_cast<const std::byte*>(values),
                  plan::DType::bf16, reinterpret_cast<std::byte*>(narrowed), 4);
  EXPECT_EQ(0, std::memcmp(narrowed, brain, sizeof brain));
  double widened[4];
  convertElements(ElementType::bf16, reinterpret_cast<const std::byte*>(brain),
                  plan::DType::f64, reinterpret_cast<std::byte*>(widened), 4);
  EXPECT_EQ(0, std::memcmp(widened, values, sizeof values));
}

} // namespace
} // namespace reciperun::checkpoint
