// Messages about a GPU without room for a plan, and about libraries of another
// version. Needs no GPU.

#include "runtime/device/cuda/MemoryBudget.h"
#include "runtime/device/cuda/SharedLibrary.h"
#include "runtime/plan/Plan.h"

#include <gtest/gtest.h>

namespace reciperun::device {
namespace {

constexpr int64_t gibibyte = int64_t(1) << 30;

plan::MemoryTable planOf(int64_t arena, int64_t library) {
  plan::MemoryTable memory;
  memory.arena = arena * gibibyte;
  memory.library = library * gibibyte;
  return memory;
}

TEST(MemoryBudgetTest, isThereForWhatFits) {
  const MemoryBudget room{"GPU 0 (`NVIDIA H200`)", 140 * gibibyte,
                          139 * gibibyte};
  EXPECT_TRUE(checkMemoryBudget(room, planOf(132, 8)).isOk());
  EXPECT_FALSE(checkMemoryBudget(room, planOf(133, 8)).isOk());
}

TEST(MemoryBudgetTest, tellsWhatOthersHold) {
  const MemoryBudget room{"GPU 1 (`NVIDIA H200`)", 140 * gibibyte,
                          39 * gibibyte};
  EXPECT_EQ(checkMemoryBudget(room, planOf(104, 8)).message(),
            "the plan takes 112.0 GiB of a GPU, 104.0 GiB of it for its arena, "
            "and of the 140.0 GiB of GPU 1 (`NVIDIA H200`) 39.0 GiB are free; "
            "`nvidia-smi` shows which processes hold the rest");
}

TEST(MemoryBudgetTest, tellsOfAGpuThatIsTooSmall) {
  const MemoryBudget room{"GPU 0 (`NVIDIA H100`)", 79 * gibibyte,
                          78 * gibibyte};
  EXPECT_EQ(checkMemoryBudget(room, planOf(104, 8)).message(),
            "the plan takes 112.0 GiB of a GPU, 104.0 GiB of it for its arena, "
            "and GPU 0 (`NVIDIA H100`) has 79.0 GiB: compile the recipe for "
            "this hardware");
}

TEST(SharedLibraryTest, refusesAnotherMajorVersion) {
  EXPECT_TRUE(checkMajorVersion("cuDNN", 91900, 90100).isOk());
  EXPECT_EQ(checkMajorVersion("cuDNN", 80907, 91900).message(),
            "the cuDNN that was found is 8.9.7, and this program was compiled "
            "for 9.19.0: install cuDNN 9, or name its folder first in "
            "LD_LIBRARY_PATH");
}

TEST(SharedLibraryTest, tellsWhatIsMissing) {
  SharedLibrary none;
  const std::string told =
      none.open("libnone.so.7", "None 7, which this test needs").message();
  EXPECT_NE(told.find("cannot open `libnone.so.7` ("), std::string::npos);
  EXPECT_NE(told.find("install None 7, which this test needs, or name its "
                      "folder in LD_LIBRARY_PATH"),
            std::string::npos);
}

} // namespace
} // namespace reciperun::device
