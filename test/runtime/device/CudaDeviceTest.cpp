// A GPU as a device. Skipped without a GPU.

#include "runtime/device/cuda/CudaDevice.h"

#include "runtime/device/HostCopy.h"
#include "runtime/device/cuda/NearbyCores.h"
#include "runtime/device/cuda/RecordedMarks.h"
#include "runtime/plan/Plan.h"
#include "runtime/sizes/ConnectionWidths.h"

#include <cuda.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

namespace reciperun::device {
namespace {

CudaKernel noKernel(plan::OpKind) {
  return nullptr;
}

/// Copies its input to its output through the scratch, in many pieces.
Status copyThroughScratch(const CudaKernelArgs& args) {
  const Tensor &in = args.inputs[0], &out = args.outputs[0];
  const int64_t piece = CudaContext::scratchCapacity<char>();
  auto copy = [&](void* to, const void* from, int64_t bytes) {
    return cudaMemcpyAsync(to, from, size_t(bytes), cudaMemcpyDeviceToDevice,
                           args.context.stream());
  };
  for (int64_t at = 0; at < in.bytes(); at += piece) {
    const int64_t bytes = std::min(piece, in.bytes() - at);
    char* const scratch = args.context.scratch<char>();
    if (copy(scratch, in.as<char>() + at, bytes) != cudaSuccess ||
        copy(out.as<char>() + at, scratch, bytes) != cudaSuccess)
      return Status::error("a copy failed");
  }
  return Status::ok();
}

CudaKernel copyingKernel(plan::OpKind) {
  return &copyThroughScratch;
}

class CudaDeviceTest : public testing::Test {
protected:
  static void SetUpTestSuite() { setEnvironment(CudaDevice::environment()); }
  void SetUp() override {
    auto opened = CudaDevice::open(0, &noKernel);
    if (!opened)
      GTEST_SKIP() << opened.message();
    gpu = *std::move(opened);
  }

  void wait() {
    Expected<bool> isIdle = false;
    while ((isIdle = gpu->isIdle()) && !*isIdle)
      std::this_thread::yield();
    ASSERT_TRUE(isIdle) << isIdle.message();
  }

  void followOneAnother(memory::Arena& arena, int copies, int launches);

  std::unique_ptr<CudaDevice> gpu;
};

TEST_F(CudaDeviceTest, bytesComeBack) {
  // More than all pinned memory, in pieces that do not divide a segment.
  auto arena = gpu->allocate(int64_t(100) << 20, 0);
  ASSERT_TRUE(arena) << arena.message();
  std::vector<std::byte> given(size_t(arena->bytes()));
  for (size_t i = 0; i < given.size(); ++i)
    given[i] = std::byte(i * 2654435761u >> 11);
  for (size_t at = 0, count = 1; at < given.size(); at += count, count *= 3) {
    count = std::min(count, given.size() - at);
    ASSERT_TRUE(
        gpu->upload(arena->base() + at, std::span(given).subspan(at, count))
            .isOk());
  }
  std::vector<std::byte> taken(given.size());
  ASSERT_TRUE(gpu->download(taken, arena->base()).isOk());
  EXPECT_TRUE(taken == given);
  ASSERT_TRUE(gpu->clear(arena->base() + 5, 1000).isOk());
  ASSERT_TRUE(
      gpu->download(std::span(taken).first(2000), arena->base()).isOk());
  EXPECT_EQ(taken[4], given[4]);
  EXPECT_EQ(taken[5], std::byte(0));
  EXPECT_EQ(taken[1004], std::byte(0));
  EXPECT_EQ(taken[1005], given[1005]);
  wait();
}

TEST_F(CudaDeviceTest, othersMapAnArenaInLargePages) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  ASSERT_EQ(cudaGetDriverEntryPointByVersion("cuMemGetAddressRange", &function,
                                             12000, cudaEnableDefault, &found),
            cudaSuccess);
  const auto rangeOf =
      reinterpret_cast<decltype(&cuMemGetAddressRange)>(function);
  for (int64_t bytes : {int64_t(256), 3 * sizes::mappedPageBytes,
                        3 * sizes::mappedPageBytes + 256}) {
    auto arena = gpu->allocate(bytes, 0);
    ASSERT_TRUE(arena) << arena.message();
    EXPECT_EQ(arena->bytes(), bytes);
    CUdeviceptr base = 0;
    size_t size = 0;
    ASSERT_EQ(
        rangeOf(&base, &size, reinterpret_cast<CUdeviceptr>(arena->base())),
        CUDA_SUCCESS);
    EXPECT_EQ(base, reinterpret_cast<CUdeviceptr>(arena->base()));
    EXPECT_EQ(size % sizes::mappedPageBytes, 0u) << bytes << " bytes";
  }
}

TEST_F(CudaDeviceTest, anArenaIsZero) {
  for (int repeat = 0; repeat < 2; ++repeat) {
    auto arena = gpu->allocate(int64_t(5) << 20, int64_t(1) << 20);
    ASSERT_TRUE(arena) << arena.message();
    const int64_t shape[] = {arena->bytes() / 4};
    const Tensor all{arena->base(), plan::DType::i32, shape};
    int64_t seen = 0;
    ASSERT_TRUE(readPieces(*gpu, all, [&](const Tensor& piece, int64_t first) {
                  EXPECT_EQ(first, seen);
                  seen += piece.elements();
                  const auto* values = piece.as<int32_t>();
                  EXPECT_TRUE(
                      std::all_of(values, values + piece.elements(),
                                  [](int32_t value) { return value == 0; }));
                  return Status::ok();
                }).isOk());
    EXPECT_EQ(seen, shape[0]);
    ASSERT_TRUE(writePieces(*gpu, all, [](const Tensor& piece, int64_t) {
                  std::fill_n(piece.as<int32_t>(), piece.elements(), 7);
                  return Status::ok();
                }).isOk());
    EXPECT_EQ(*readElement<int32_t>(*gpu, all, shape[0] - 1), 7);
  }
}

TEST_F(CudaDeviceTest, aFailureThatWasToldIsNoKernels) {
  const auto none = gpu->allocate(int64_t(1) << 50, 0);
  ASSERT_FALSE(none);
  EXPECT_NE(none.message().find("cudaMalloc"), std::string::npos)
      << none.message();
  RecordedMarks marks; // set by a kernel
  ASSERT_TRUE(marks.open(/*words=*/1).isOk());
  EXPECT_TRUE(marks.add(gpu->context().stream()).isOk());
  wait();
}

TEST_F(CudaDeviceTest, marksTellTheTime) {
  for (int repeat = 0; repeat < 2; ++repeat) {
    const int begin = gpu->mark();
    EXPECT_EQ(begin, 0);
    wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const int end = gpu->mark();
    wait();
    EXPECT_GE(gpu->seconds(begin, end), 0.015);
    EXPECT_LT(gpu->seconds(begin, end), 1);
    gpu->forgetMarks();
  }
}

TEST_F(CudaDeviceTest, recordedMarksFindRoom) {
  RecordedMarks marks;
  ASSERT_TRUE(marks.open(/*words=*/2).isOk());
  for (int mark = 0; mark < 5; ++mark) {
    EXPECT_EQ(marks.count(), mark);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_TRUE(marks.add(gpu->context().stream()).isOk());
    wait();
  }
  for (int mark = 1; mark < 5; ++mark) {
    EXPECT_GE(marks.seconds(mark - 1, mark), 0.004);
    EXPECT_LT(marks.seconds(mark - 1, mark), 1);
  }
}

TEST_F(CudaDeviceTest, recordsWhatItIsGiven) {
  auto arena = gpu->allocate(int64_t(1) << 20, 0);
  ASSERT_TRUE(arena) << arena.message();
  const int64_t shape[] = {arena->bytes() / 4};
  const Tensor all{arena->base(), plan::DType::i32, shape};
  std::unique_ptr<Recording> recording;
  int begin = 0, end = 0;
  {
    ASSERT_TRUE(gpu->beginRecording().isOk());
    begin = gpu->mark();
    ASSERT_TRUE(gpu->clear(arena->base(), arena->bytes() / 2).isOk());
    end = gpu->mark();
    auto recorded = gpu->endRecording();
    ASSERT_TRUE(recorded) << recorded.message();
    recording = *std::move(recorded);
  }
  for (int launch = 0; launch < 3; ++launch) {
    const std::vector<std::byte> ones(size_t(arena->bytes()), std::byte(1));
    ASSERT_TRUE(gpu->upload(arena->base(), ones).isOk());
    EXPECT_EQ(*readElement<int32_t>(*gpu, all), 0x01010101);
    ASSERT_TRUE(recording->launch().isOk());
    EXPECT_EQ(*readElement<int32_t>(*gpu, all), 0);
    EXPECT_EQ(*readElement<int32_t>(*gpu, all, shape[0] - 1), 0x01010101);
    wait();
    EXPECT_GT(gpu->seconds(begin, end), 0);
    EXPECT_LT(gpu->seconds(begin, end), 0.1);
    gpu->forgetMarks(); // those found so far stay
  }
}

/// Fills [i] of four parts with i + 1, and runs copies of parts 0, 1, 2 to
/// others beside one another, once and then recorded.
TEST(CudaLanes, opsRunBesideOneAnother) {
  auto opened = CudaDevice::open(0, &copyingKernel);
  if (!opened)
    GTEST_SKIP() << opened.message();
  CudaDevice& gpu = **opened;
  EXPECT_EQ(gpu.lanes(), 1);
  ASSERT_TRUE(gpu.context().openLanes(3).isOk());
  EXPECT_EQ(gpu.lanes(), 3);
  constexpr int64_t bytes = int64_t(96) << 20;
  auto arena = gpu.allocate(6 * bytes, 0);
  ASSERT_TRUE(arena) << arena.message();
  const int64_t shape[] = {bytes / 4};
  auto part = [&](int i) {
    return Tensor{arena->base() + i * bytes, plan::DType::i32, shape};
  };
  const plan::Op op{};
  const plan::Mesh mesh{};
  std::vector<std::array<Tensor, 2>> tensors;
  for (int i = 0; i < 3; ++i)
    tensors.push_back({part(i), part(3 + i)});
  std::vector<OpCall> calls;
  for (const auto& both : tensors)
    calls.push_back({op, std::span(both).first(1), std::span(both).last(1),
                     Tensor(), mesh});
  std::unique_ptr<Recording> recording;
  for (int launch = 0; launch < 3; ++launch) {
    ASSERT_TRUE(gpu.clear(arena->base(), arena->bytes()).isOk());
    for (int i = 0; i < 3; ++i) {
      const std::vector<std::byte> values(size_t(bytes),
                                          std::byte(i + 1 + launch));
      ASSERT_TRUE(gpu.upload(arena->base() + i * bytes, values).isOk());
    }
    if (launch == 1) {
      ASSERT_TRUE(gpu.beginRecording().isOk());
      ASSERT_TRUE(gpu.runConcurrently(calls).isOk());
      auto recorded = gpu.endRecording();
      ASSERT_TRUE(recorded) << recorded.message();
      recording = *std::move(recorded);
    }
    ASSERT_TRUE(
        (recording ? recording->launch() : gpu.runConcurrently(calls)).isOk());
    for (int i = 0; i < 3; ++i)
      for (int64_t at : {int64_t(0), shape[0] - 1})
        EXPECT_EQ(*readElement<int32_t>(gpu, part(3 + i), at),
                  0x01010101 * (i + 1 + launch))
            << i;
  }
}

TEST_F(CudaDeviceTest, recordingsFollowOneAnother) {
  auto arena = gpu->allocate(int64_t(256) << 20, 0);
  ASSERT_TRUE(arena) << arena.message();
  // About 0.1 ms each, so that the host would run far ahead.
  for (auto [copies, launches] : {std::pair(1000, 8), std::pair(100, 80)})
    followOneAnother(*arena, copies, launches);
}

void CudaDeviceTest::followOneAnother(memory::Arena& arena, int copies,
                                      int launches) {
  ASSERT_TRUE(gpu->beginRecording().isOk());
  const int64_t half = arena.bytes() / 2;
  for (int i = 0; i < copies; ++i)
    ASSERT_EQ(cudaMemcpyAsync(arena.base(), arena.base() + half, size_t(half),
                              cudaMemcpyDeviceToDevice,
                              gpu->context().stream()),
              cudaSuccess);
  auto recording = gpu->endRecording();
  ASSERT_TRUE(recording) << recording.message();
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  const auto start = Clock::now();
  for (int launch = 0; launch < launches; ++launch)
    ASSERT_TRUE((*recording)->launch().isOk());
  const Seconds launched = Clock::now() - start;
  wait();
  const Seconds all = Clock::now() - start;
  // When the last launch returned, the last but one had begun. The third launch
  // of tolerance allows for another program on the GPU, which makes launch
  // times uneven.
  EXPECT_GE(launched, all * (launches - 3) / launches);
}

TEST_F(CudaDeviceTest, whatCannotBeRecordedChangesNothing) {
  auto arena = gpu->allocate(1024, 0);
  ASSERT_TRUE(arena) << arena.message();
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaStreamCreate(&other), cudaSuccess);
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  ASSERT_TRUE(gpu->beginRecording().isOk());
  // The recorded stream never waits for work on another stream.
  ASSERT_EQ(cudaEventRecord(event, gpu->context().stream()), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(other, event, 0), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(arena->base(), 1, 4, other), cudaSuccess);
  auto recorded = gpu->endRecording();
  ASSERT_FALSE(recorded);
  EXPECT_NE(recorded.message().find("cudaStreamEndCapture"), std::string::npos)
      << recorded.message();
  const int64_t shape[] = {1};
  const Tensor word{arena->base(), plan::DType::i32, shape};
  EXPECT_EQ(*readElement<int32_t>(*gpu, word), 0);
  const int mark = gpu->mark();
  wait();
  EXPECT_EQ(mark, 0);
  cudaEventDestroy(event);
  cudaStreamDestroy(other);
}

TEST_F(CudaDeviceTest, aProfileSaysWhatWasDone) {
  auto arena = gpu->allocate(int64_t(64) << 20, 0);
  ASSERT_TRUE(arena) << arena.message();
  const Status begun = gpu->beginProfile();
  if (!begun.isOk())
    GTEST_SKIP() << begun.message();
  gpu->beginRange("outer");
  gpu->beginRange("inner");
  ASSERT_TRUE(gpu->clear(arena->base(), arena->bytes()).isOk());
  gpu->endRange();
  gpu->endRange();
  ASSERT_TRUE(gpu->clear(arena->base(), arena->bytes()).isOk());
  wait();
  auto done = gpu->endProfile();
  ASSERT_TRUE(done) << done.message();
  ASSERT_EQ(done->size(), 2u);
  EXPECT_EQ(done->front().range, "inner");
  EXPECT_EQ(done->back().range, "");
  for (const Activity& activity : *done) {
    EXPECT_EQ(activity.name, "clear");
    EXPECT_GT(activity.begin, 0);
    EXPECT_GT(activity.end, activity.begin);
    EXPECT_LT(activity.end, 10);
  }
}

TEST(NearbyCores, areListedAsTheSystemDoes) {
  const cpu_set_t cores = parseCoreList("0-2,5,8-9");
  EXPECT_EQ(CPU_COUNT(&cores), 6);
  for (size_t core : {0, 1, 2, 5, 8, 9})
    EXPECT_TRUE(CPU_ISSET(core, &cores));
  for (const char* list : {"", "none", "-1", "100000-100001"}) {
    const cpu_set_t none = parseCoreList(list);
    EXPECT_EQ(CPU_COUNT(&none), 0) << list;
  }
}

TEST_F(CudaDeviceTest, aLackOfMemorySaysHowMuchThereIs) {
  plan::MemoryTable memory;
  memory.arena = int64_t(1) << 50;
  const Status room = gpu->checkMemoryBudget(memory);
  EXPECT_NE(room.message().find("the plan takes 1048576.0 GiB of a GPU"),
            std::string::npos)
      << room.message();
  auto arena = gpu->allocate(memory.arena, 0);
  ASSERT_FALSE(arena);
  EXPECT_NE(arena.message().find("arena of 1125899906842624 bytes"),
            std::string::npos)
      << arena.message();
}

} // namespace
} // namespace reciperun::device
