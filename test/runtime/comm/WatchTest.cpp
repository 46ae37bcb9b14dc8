// A process that waits longer than the timeout is ended; any other goes on.

#include "runtime/comm/Watch.h"
#include "runtime/comm/GroupName.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace reciperun::comm {
namespace {

using namespace std::chrono_literals;

constexpr auto pause = 50ms;

constexpr Awaited reduction = {"all-reduce", "embed",
                               "group `dp` of ranks 0, 1"};

/// A device that waits for something and may make progress.
struct Device final : Lookout {
  bool hasMoved() override { return moves; }
  std::string awaited() override { return what; }

  std::string what = "a message received by rank 0 to rank 1 on line 2";
  std::atomic<bool> moves = false;
};

void hang(Watch& watch) {
  const Watch::Wait wait(&watch, reduction);
  std::this_thread::sleep_for(20s);
}

TEST(WatchTest, endsAHostThatWaitsTooLong) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Watch watch(/*rank=*/3, 1s, pause);
        hang(watch);
      },
      testing::ExitedWithCode(exitUnresponsive),
      "rank 3: error: has waited for 1 s for all-reduce for op `embed` by "
      "group `dp` of ranks 0, 1; .*RECIPERUN_COMM_TIMEOUT.*\nrank 3: note: its "
      "stack is\nrank 3:   .*nanosleep");
}

TEST(WatchTest, tellsAFailureThatTheOthersDoNotHearOf) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Watch watch(/*rank=*/2, 1s, pause);
        Device device;
        watch.add(device);
        const Watch::Wait outer(&watch,
                                {"an agreement", {}, {}, "the disk is full"});
        hang(watch);
      },
      testing::ExitedWithCode(1),
      "rank 2: error: the disk is full \\(the other ranks have not come to "
      "hear of it in 1 s\\)");
}

TEST(WatchTest, endsAtTheBoundOfAnOuterWait) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Watch watch(/*rank=*/0, std::nullopt, pause);
        const Watch::Wait outer(&watch, {"NCCL to connect", {}, {}}, 1s);
        hang(watch);
      },
      testing::ExitedWithCode(exitUnresponsive),
      "has waited for 1 s for all-reduce");
}

TEST(WatchTest, endsARankThatDoesNotKeepPace) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Watch watch(/*rank=*/0, std::nullopt, pause);
        const Watch::Pace pace(&watch, 1s);
        hang(watch);
      },
      testing::ExitedWithCode(exitUnresponsive),
      "has waited for 1 s for all-reduce");
}

/// A process that waits for a signal. It ends with this process.
class Child {
public:
  Child() : id(start()) {}
  ~Child() {
    kill(id, SIGKILL);
    waitpid(id, nullptr, 0);
  }
  /// Sends a signal and waits until the process has changed its state.
  void send(int signal) const {
    kill(id, signal);
    siginfo_t told = {};
    waitid(P_PID, id_t(id), &told, WEXITED | WSTOPPED | WNOWAIT);
  }
  const pid_t id;

private:
  static pid_t start() {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    const pid_t id = fork();
    if (id == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      close(ready[1]);
      while (true)
        ::pause();
    }
    close(ready[1]);
    char none;
    EXPECT_EQ(read(ready[0], &none, 1), 0); // until the child has closed it
    close(ready[0]);
    return id;
  }
};

TEST(WatchTest, tellsTheStatesOfProcesses) {
  EXPECT_EQ(stateOfProcess(getpid()), "");
  const Child child;
  child.send(SIGSTOP);
  EXPECT_EQ(stateOfProcess(child.id), "is stopped");
  child.send(SIGKILL);
  EXPECT_EQ(stateOfProcess(child.id), "has ended");
}

TEST(WatchTest, namesAStoppedRankOfItsHost) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const Child child;
        child.send(SIGSTOP);
        Watch watch(/*rank=*/0, 1s, pause);
        watch.know({{.rank = 5, .process = child.id}});
        hang(watch);
      },
      testing::ExitedWithCode(exitUnresponsive),
      "rank 0: note: rank 5, process [0-9]+ of this host, is stopped");
}

TEST(WatchTest, keepsToALimitThatIsGiven) {
  Watch watch(/*rank=*/0, 10min, pause);
  const Watch::Pace pace(&watch, 500ms);
  const Watch::Wait outer(&watch, {"NCCL to connect", {}, {}}, 500ms);
  const Watch::Wait wait(&watch, reduction);
  std::this_thread::sleep_for(1500ms);
}

TEST(WatchTest, takesWholeSecondsFromTheEnvironment) {
  constexpr const char* name = "RECIPERUN_COMM_TIMEOUT";
  unsetenv(name);
  EXPECT_EQ(*Watch::limitOfEnvironment(), std::nullopt);
  setenv(name, "30", 1);
  EXPECT_EQ(*Watch::limitOfEnvironment(), 30s);
  for (const char* bad : {"", "0", "-1", "10m", "abc", "1000001"}) {
    setenv(name, bad, 1);
    const auto limit = Watch::limitOfEnvironment();
    EXPECT_EQ(limit.message(), "`RECIPERUN_COMM_TIMEOUT` is `" +
                                   std::string(bad) +
                                   "`: it takes seconds, 1 to 1000000");
  }
  unsetenv(name);
}

TEST(WatchTest, waitsLongOnceThePaceIsOver) {
  Watch watch(/*rank=*/0, std::nullopt, pause);
  { const Watch::Pace pace(&watch, 500ms); }
  const Watch::Wait wait(&watch, reduction);
  std::this_thread::sleep_for(1500ms);
}

TEST(WatchTest, tellsWhatADeviceWaitsForFirst) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Watch watch(/*rank=*/1, 1s, pause);
        Device device;
        watch.add(device);
        hang(watch);
      },
      testing::ExitedWithCode(exitUnresponsive),
      "waited for 1 s for a message received by");
}

TEST(WatchTest, letsOthersGoOn) {
  Watch watch(/*rank=*/0, 1s, pause);
  // Work without a wait does not count.
  std::this_thread::sleep_for(1500ms);
  // Waits that end, in sequence and nested.
  for (int i = 0; i < 15; ++i) {
    const Watch::Wait outer(&watch, {"an agreement", {}, "all 2 ranks"});
    const Watch::Wait wait(&watch, reduction);
    std::this_thread::sleep_for(100ms);
  }
  // A device that makes progress, and one that is removed.
  Device device;
  device.moves = true;
  watch.add(device);
  std::this_thread::sleep_for(1500ms);
  device.moves = false;
  watch.remove(device);
  std::this_thread::sleep_for(1500ms);
}

TEST(WatchTest, doesWithoutAWatch) {
  const Watch::Wait wait(nullptr, reduction);
}

TEST(WatchTest, namesRanks) {
  const plan::Group group{"dp", {"dp"}};
  EXPECT_EQ(nameOf(group, {0, 2}), "group `dp` of ranks 0, 2");
  EXPECT_EQ(nameOf(group, {0, 1, 2, 3, 4, 5, 6, 7, 8}),
            "group `dp` of ranks 0, 1, 2, 3, 4, 5, 6, 7, 8");
  EXPECT_EQ(nameOf(group, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}),
            "group `dp` of ranks 0, 1, 2, 3, 4, 5, 6, 7, ..., 9");
  EXPECT_EQ(nameOfAll(4), "all 4 ranks");
  EXPECT_EQ(nameOfLink(1, 0, 3), "rank 1 to rank 0 on link 3");
}

} // namespace
} // namespace reciperun::comm
