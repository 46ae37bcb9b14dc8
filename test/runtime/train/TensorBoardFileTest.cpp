// Checksums of event files. tensorboard.test reads whole files.

#include "runtime/train/metrics/TensorBoardFile.h"

#include <gtest/gtest.h>

#include <string>

namespace reciperun::train {
namespace {

// RFC 3720, appendix B.4.
TEST(Crc32cTest, isThatOfTheStandard) {
  std::string ascending;
  for (char byte = 0; byte < 32; ++byte)
    ascending += byte;
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(ascending), 0x46dd794eu);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
}

} // namespace
} // namespace reciperun::train
