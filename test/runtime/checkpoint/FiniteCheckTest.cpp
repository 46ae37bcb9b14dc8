// NaN and infinity in weights are found in every type and reported with their
// index.

#include "runtime/checkpoint/FiniteCheck.h"

#include "TestFolder.h"

#include <gtest/gtest.h>

#include <limits>

namespace reciperun::checkpoint {
namespace {

template <class Bits>
std::string messageOf(ElementType type, const std::vector<Bits>& values) {
  FiniteCheck check;
  check.look(type, std::as_bytes(std::span(values)), 0);
  return check.outcome("w", {2, 3}).message();
}

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(FiniteCheck, PassesTheLargestAndTheSmallest) {
  EXPECT_EQ(messageOf<uint16_t>(ElementType::bf16,
                                {0, 0x8000, 1, 0x7f7f, 0xff7f, 0x3f80}),
            "");
  EXPECT_EQ(messageOf<uint16_t>(ElementType::f16,
                                {0, 0x8000, 1, 0x7bff, 0xfbff, 0x3c00}),
            "");
  EXPECT_EQ(messageOf<float>(ElementType::f32,
                             {0, -0.0f, std::numeric_limits<float>::max(),
                              std::numeric_limits<float>::lowest(),
                              std::numeric_limits<float>::denorm_min(), 1}),
            "");
  EXPECT_EQ(messageOf<double>(ElementType::f64,
                              {0, 1, 2, std::numeric_limits<double>::max(),
                               std::numeric_limits<double>::lowest(), 5e-324}),
            "");
}

TEST(FiniteCheck, NamesThePlaceTheValueAndTheCount) {
  const std::string end = "; the weights are damaged: copy them again, or take "
                          "an earlier checkpoint";
  EXPECT_EQ(messageOf<float>(ElementType::f32,
                             {0, 1, 2, 3, float(nan), float(infinity)}),
            "tensor `w` of shape [2, 3] has NaN at [1, 1], and 2 values that "
            "are not finite in all" +
                end);
  EXPECT_EQ(messageOf<double>(ElementType::f64, {0, 1, -infinity, 3, 4, 5}),
            "tensor `w` of shape [2, 3] has -infinity at [0, 2], and 1 value "
            "that is not finite in all" +
                end);
  EXPECT_NE(messageOf<uint16_t>(ElementType::bf16, {0, 0x7f80, 0, 0, 0, 0})
                .find("infinity at [0, 1]"),
            std::string::npos);
  EXPECT_NE(messageOf<uint16_t>(ElementType::f16, {0, 0, 0, 0, 0, 0xfe00})
                .find("NaN at [1, 2]"),
            std::string::npos);
}

TEST(FiniteCheck, AddsUpPiecesOfAnyOrder) {
  const std::vector<float> bad = {0, float(nan)}, good = {1, 2};
  FiniteCheck check;
  check.look(ElementType::f32, std::as_bytes(std::span(bad)), 4);
  check.look(ElementType::f32, std::as_bytes(std::span(good)), 2);
  check.look(ElementType::f32, std::as_bytes(std::span(bad)), 0);
  EXPECT_NE(check.outcome("w", {6}).message().find("NaN at [1], and 2 values"),
            std::string::npos);
}

/// A piece of a file's window may begin at any byte.
TEST(FiniteCheck, ReadsUnalignedBytes) {
  std::string bytes = "x" + bytesOf<float>({1, float(nan)});
  FiniteCheck check;
  check.look(ElementType::f32, std::as_bytes(std::span(bytes)).subspan(1), 0);
  EXPECT_NE(check.outcome("w", {2}).message().find("NaN at [1]"),
            std::string::npos);
}

} // namespace
} // namespace reciperun::checkpoint
