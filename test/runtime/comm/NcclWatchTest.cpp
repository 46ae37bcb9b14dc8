// A GPU that waits longer than the timeout ends its process; any other goes on.

#include "runtime/comm/NcclWatch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace reciperun::comm {
namespace {

using namespace std::chrono_literals;

/// A watch, and a stream that is busy for a while, like one with a message
/// whose peer does not answer.
class BusyStream {
public:
  BusyStream() { cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking); }
  ~BusyStream() { cudaStreamDestroy(stream); }

  void run(std::chrono::milliseconds busy, std::chrono::milliseconds limit) {
    Watch host(/*rank=*/3, limit);
    NcclWatch watch;
    EXPECT_TRUE(watch.start(host).isOk());
    sleep(busy);
    EXPECT_TRUE(watch.note(stream, "a message received by rank 3").isOk());
    cudaStreamSynchronize(stream);
  }

  /// The same in a graph that is launched twice, between two collectives.
  void runGraph(std::chrono::milliseconds busy,
                std::chrono::milliseconds limit) {
    Watch host(/*rank=*/3, limit);
    NcclWatch watch;
    EXPECT_TRUE(watch.start(host).isOk());
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    EXPECT_TRUE(watch.beginRecording(stream).isOk());
    EXPECT_TRUE(watch.note(stream, "an all-reduce").isOk());
    sleep(busy);
    EXPECT_TRUE(watch.note(stream, "an all-gather").isOk());
    EXPECT_EQ(watch.endRecording(), 0);
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    cudaGraphExec_t executable = nullptr;
    ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
    for (int launch = 0; launch < 2; ++launch) {
      ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
      EXPECT_TRUE(watch.noteLaunch(stream, 0).isOk());
      cudaStreamSynchronize(stream);
    }
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
  }

private:
  void sleep(std::chrono::milliseconds& time) {
    cudaLaunchHostFunc(
        stream,
        [](void* time) {
          std::this_thread::sleep_for(
              *static_cast<std::chrono::milliseconds*>(time));
        },
        &time);
  }

  cudaStream_t stream = nullptr;
};

bool hasGpu() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

TEST(NcclWatchDeathTest, endsWhatWaitsTooLong) {
  if (!hasGpu())
    GTEST_SKIP() << "no GPU";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(BusyStream().run(20s, 1s),
              testing::ExitedWithCode(exitUnresponsive),
              "rank 3: error: has waited for 1 s for a message received");
}

TEST(NcclWatchTest, letsOthersGoOn) {
  if (!hasGpu())
    GTEST_SKIP() << "no GPU";
  BusyStream().run(2s, 10s);
  BusyStream().runGraph(1s, 10s);
}

TEST(NcclWatchDeathTest, namesWhatAGraphWaitsFor) {
  if (!hasGpu())
    GTEST_SKIP() << "no GPU";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(BusyStream().runGraph(20s, 1s),
              testing::ExitedWithCode(exitUnresponsive),
              "rank 3: error: has waited for 1 s for an all-gather");
}

} // namespace
} // namespace reciperun::comm
