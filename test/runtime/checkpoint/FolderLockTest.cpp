// A lock keeps a second job out and is released when the first job ends, even
// by a crash.

#include "runtime/checkpoint/FolderLock.h"

#include "TestFolder.h"

#include <gtest/gtest.h>

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

namespace reciperun::checkpoint {
namespace {

TEST(FolderLock, NamesTheHolder) {
  TestFolder test;
  const std::filesystem::path file = runLockFile(test.path());
  auto first = FolderLock::take(file, "`train.dir`");
  ASSERT_TRUE(first) << first.message();
  EXPECT_EQ(first->note(), "");
  auto second = FolderLock::take(file, "`train.dir`");
  ASSERT_FALSE(second);
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  EXPECT_EQ(second.message().find("`train.dir` is in use by another job: "
                                  "process " +
                                  std::to_string(getpid()) + " on host " +
                                  host + " since 20"),
            0u)
      << second.message();
}

TEST(FolderLock, EndsWithAKilledProcess) {
  TestFolder test;
  const std::filesystem::path file = test / "lock";
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto lock = FolderLock::take(file, "it");
    (void)!write(ready[1], lock ? "y" : "n", 1);
    pause();
    _exit(0);
  }
  char taken = 0;
  ASSERT_EQ(read(ready[0], &taken, 1), 1);
  EXPECT_EQ(taken, 'y');
  EXPECT_FALSE(FolderLock::take(file, "it"));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  auto next = FolderLock::take(file, "it");
  EXPECT_TRUE(next) << next.message();
  close(ready[0]);
  close(ready[1]);
}

TEST(FolderLock, LiesBesideAFolderOfCheckpoints) {
  EXPECT_EQ(checkpointsLockFile("/runs/a/checkpoints"),
            "/runs/a/.checkpoints.lock");
  EXPECT_EQ(checkpointsLockFile("/runs/a/checkpoints/"),
            "/runs/a/.checkpoints.lock");
  EXPECT_EQ(checkpointsLockFile("saved"),
            std::filesystem::current_path() / ".saved.lock");
}

} // namespace
} // namespace reciperun::checkpoint
