// Masters stored in halves: the two halves form the master, and the parameter
// is the bf16 nearest to it.

#include "runtime/device/MasterHalves.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace reciperun::device {
namespace {

float asFloat(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

/// Checks all masters with the given upper half.
void check(uint16_t upper) {
  for (uint32_t lower = 0; lower < 1u << 16; ++lower) {
    uint32_t word = uint32_t(upper) << 16 | lower;
    float master = std::bit_cast<float>(word);
    MasterHalves halves = splitMaster(master);
    ASSERT_EQ(std::bit_cast<uint32_t>(joinMaster(halves)), word);
    uint16_t nearest =
        uint16_t(upper + (lower >= 0x8000)); // ties round away from zero
    ASSERT_EQ(halves.parameter, nearest) << std::hex << word;
  }
}

TEST(MasterHalves, AreTheMaster) {
  for (uint32_t upper : {0x0000, 0x0001, 0x007f, 0x0080, 0x3f7f, 0x3f80, 0x3f81,
                         0x4049, 0x7f7e, 0x7f7f}) {
    check(uint16_t(upper));
    check(uint16_t(upper | 0x8000)); // the negative
  }
}

TEST(MasterHalves, RoundToNearest) {
  for (float master : {1.0f, 1.00390625f, 3.14159274f, 1e-20f, -65535.0f}) {
    float parameter = asFloat(splitMaster(master).parameter);
    // Half a unit of 8 significant bits.
    EXPECT_LE(std::abs(parameter - master), std::abs(master) * 0x1p-8f);
  }
  EXPECT_EQ(asFloat(splitMaster(1 + 0x1p-8f).parameter), 1 + 0x1p-7f); // a tie
  EXPECT_EQ(asFloat(splitMaster(-1 - 0x1p-8f).parameter), -1 - 0x1p-7f);
}

TEST(MasterHalves, KeepWhatIsNoNumber) {
  float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(joinMaster(splitMaster(infinity)), infinity);
  EXPECT_EQ(joinMaster(splitMaster(-infinity)), -infinity);
  for (uint32_t word : {0x7fc00000u, 0x7fffffffu, 0xffffffffu, 0x7f800001u}) {
    MasterHalves halves = splitMaster(std::bit_cast<float>(word));
    EXPECT_TRUE(std::isnan(asFloat(halves.parameter))) << std::hex << word;
    EXPECT_TRUE(std::isnan(joinMaster(halves))) << std::hex << word;
  }
}

} // namespace
} // namespace reciperun::device
