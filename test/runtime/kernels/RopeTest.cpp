// Rotary embedding: frequencies under each scaling, and the rotated pairs.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/Harness.h"

#include <cmath>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

/// The rotation angle of pair `i` of a head of `width` at position 1.
double frequency(int64_t width, int64_t i, const Attributes& attributes) {
  Array x(DType::f64, {1, 1, 1, width}), y = x;
  Array positions = Array::integers({1, 1}, {1});
  x.set(i, 1);
  call(OpKind::Rope, {&x, &positions}, {&y}, attributes);
  return std::atan2(y.get(width / 2 + i), y.get(i));
}

TEST(Rope, FrequenciesFallGeometrically) {
  const Attributes plain = {{"theta", 10000.0}};
  EXPECT_NEAR(frequency(8, 0, plain), 1, 1e-15);
  EXPECT_NEAR(frequency(8, 1, plain), 0.1, 1e-15);
  EXPECT_NEAR(frequency(8, 3, plain), 0.001, 1e-15);
}

TEST(Rope, LinearScalingDividesThem) {
  const Attributes linear = {
      {"theta", 10000.0}, {"scaling", std::string("linear")}, {"factor", 4.0}};
  EXPECT_NEAR(frequency(8, 1, linear), 0.025, 1e-15);
}

// Llama 3.1's: theta 500,000, heads of 128, factor 8, 1 and 4, 8192. The
// numbers are _compute_llama3_parameters' of transformers: pair 20 is kept,
// 63 divided by 8, 32 between.
TEST(Rope, Llama3ScalingIsThatOfTransformers) {
  const Attributes llama3 = {
      {"theta", 500000.0},       {"scaling", std::string("llama3")},
      {"factor", 8.0},           {"low_freq_factor", 1.0},
      {"high_freq_factor", 4.0}, {"original_max_position", int64_t(8192)}};
  EXPECT_NEAR(frequency(128, 20, llama3), 0.016560440080994446, 1e-12);
  EXPECT_NEAR(frequency(128, 32, llama3), 0.0005248461609929547, 1e-12);
  EXPECT_NEAR(frequency(128, 63, llama3), 3.068925988914511e-07, 1e-15);
}

// DeepSeek-V3's: theta 10,000, 64 rotated elements, factor 40, 32 and 1, 4096.
// By _compute_yarn_parameters of transformers pairs up to 10 are kept, those
// from 23 on divided by 40; pair 16 keeps 1 - 6 / 13 of its frequency 0.01.
TEST(Rope, YarnScalingIsThatOfTransformers) {
  const Attributes yarn = {
      {"theta", 10000.0}, {"scaling", std::string("yarn")},
      {"factor", 40.0},   {"beta_fast", 32.0},
      {"beta_slow", 1.0}, {"original_max_position", int64_t(4096)}};
  EXPECT_NEAR(frequency(64, 10, yarn), 0.05623413251903491, 1e-15);
  EXPECT_NEAR(frequency(64, 16, yarn), 0.0055, 1e-15);
  EXPECT_NEAR(frequency(64, 31, yarn), 0.00013335214321633241 / 40, 1e-15);
}

TEST(Rope, TurnsAPartOfNeighbours) {
  Array x = Array::random(DType::f64, {1, 1, 1, 6}, 1), y = x;
  Array positions = Array::integers({1, 1}, {3});
  call(OpKind::Rope, {&x, &positions}, {&y},
       {{"theta", 100.0}, {"rotated", int64_t(4)}, {"interleaved", true}});
  for (int64_t i = 0; i < 2; ++i) {
    const double angle = 3 * std::pow(100.0, -double(i) / 2);
    const double a = x.get(2 * i), b = x.get(2 * i + 1);
    EXPECT_NEAR(y.get(2 * i), a * std::cos(angle) - b * std::sin(angle), 1e-12);
    EXPECT_NEAR(y.get(2 * i + 1), b * std::cos(angle) + a * std::sin(angle),
                1e-12);
  }
  for (int64_t i = 4; i < 6; ++i)
    EXPECT_EQ(y.get(i), x.get(i));
}

TEST(Rope, TurnsFirstHalfAgainstSecondHalf) {
  Array x = Array::random(DType::f32, {1, 2, 2, 6}, 1), y = x;
  Array positions = Array::integers({1, 2}, {0, 3});
  call(OpKind::Rope, {&x, &positions}, {&y}, {{"theta", 100.0}});
  for (int64_t i = 0; i < 12; ++i) // position 0 does not rotate
    EXPECT_EQ(y.get(i), x.get(i));
  for (int64_t head = 2; head < 4; ++head)
    for (int64_t i = 0; i < 3; ++i) {
      const double angle = 3 * std::pow(100.0, -double(i) / 3);
      const double a = x.get(head * 6 + i), b = x.get(head * 6 + 3 + i);
      EXPECT_NEAR(y.get(head * 6 + i),
                  a * std::cos(angle) - b * std::sin(angle), 1e-6);
      EXPECT_NEAR(y.get(head * 6 + 3 + i),
                  b * std::cos(angle) + a * std::sin(angle), 1e-6);
    }
}

TEST(Rope, WorksInPlace) {
  Array x = Array::random(DType::bf16, {2, 3, 2, 8}, 1), y = x;
  Array positions = Array::integers({2, 3}, {4, 5, 6, 0, 1, 2});
  call(OpKind::Rope, {&x, &positions}, {&y}, {{"theta", 100.0}});
  call(OpKind::Rope, {&x, &positions}, {&x}, {{"theta", 100.0}});
  EXPECT_EQ(relativeError(x, y), 0);
}

} // namespace
} // namespace reciperun::kernels
