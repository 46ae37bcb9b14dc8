// Writing to a file system whose direct I/O needs larger units than usual.
//
// The program defines its own pwrite in front of the system's, which refuses
// what such a file system would refuse.

#include "runtime/checkpoint/Files.h"
#include "runtime/memory/Arena.h"

#include "TestFolder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

/// Direct I/O: the unit in bytes that sizes and offsets must be multiples of,
/// and the number of writes accepted and refused.
struct AroundCache {
  size_t unit = 1;
  int taken = 0;
  int refused = 0;
} aroundCache;

} // namespace

extern "C" ssize_t pwrite(int file, const void* data, size_t bytes,
                          off_t offset) {
  if (fcntl(file, F_GETFL) & O_DIRECT) {
    if ((bytes | size_t(offset)) % aroundCache.unit != 0) {
      ++aroundCache.refused;
      errno = EINVAL;
      return -1;
    }
    ++aroundCache.taken;
  }
  return syscall(SYS_pwrite64, file, data, bytes, offset);
}

namespace reciperun::checkpoint {
namespace {

constexpr size_t unit = OutputFile::unitBytes;

class Files : public testing::Test {
protected:
  void SetUp() override {
    int file = open(folder.write("y", "").c_str(), O_WRONLY | O_DIRECT);
    if (file < 0)
      GTEST_SKIP() << "temporary files have no O_DIRECT here";
    close(file);
    std::filesystem::remove(folder / "y");
    aroundCache = {.unit = 4 * unit};
  }
  void TearDown() override { aroundCache = {}; }

  /// Writes pieces of the given numbers of units, each filled with its own
  /// letter, and checks the file's contents.
  void write(std::initializer_list<size_t> pieces) {
    auto memory = memory::Arena::allocate(8 * unit);
    ASSERT_TRUE(memory) << memory.message();
    auto file = OutputFile::create(folder / "x");
    ASSERT_TRUE(file) << file.message();
    std::string expected;
    for (size_t units : pieces) {
      char letter = static_cast<char>('a' + expected.size() / unit);
      expected.append(units * unit, letter);
      std::fill_n(memory->base(), units * unit, std::byte(letter));
      ASSERT_TRUE(file->append({memory->base(), units * unit}).isOk());
    }
    ASSERT_TRUE(file->commit().isOk());
    EXPECT_TRUE(readBytes(folder / "x") == expected);
    EXPECT_EQ(folder.names(), std::vector<std::string>{"x"});
  }

  TestFolder folder;
};

TEST_F(Files, GoThroughTheCacheOnceAWriteAroundItIsRefused) {
  write({4, 1, 3, 4});
  EXPECT_EQ(aroundCache.taken, 1);
  EXPECT_EQ(aroundCache.refused, 1);
}

TEST_F(Files, GoAroundTheCacheWhereAllPiecesFit) {
  write({4, 8});
  EXPECT_EQ(aroundCache.taken, 2);
  EXPECT_EQ(aroundCache.refused, 0);
}

} // namespace
} // namespace reciperun::checkpoint
