// Messages about the GPU architectures that the kernels are compiled for.

#include "runtime/device/cuda/Architectures.h"

#include <gtest/gtest.h>

namespace reciperun::device {
namespace {

bool isNamed(const char* capability) {
  return architectureNames().find(capability) != std::string::npos;
}

TEST(Architectures, namesThoseThatRun) {
  EXPECT_TRUE(isBuiltFor(9, 0) || isBuiltFor(10, 0));
  EXPECT_EQ(isNamed("9.0 (H100, H200)"), isBuiltFor(9, 0));
  EXPECT_EQ(isNamed("10.0 (B200, GB200)"), isBuiltFor(10, 0));
  EXPECT_FALSE(isBuiltFor(8, 9));
}

} // namespace
} // namespace reciperun::device
