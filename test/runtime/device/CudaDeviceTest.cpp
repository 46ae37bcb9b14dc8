// A GPU as a device. Skipped where there is none.

#include "runtime/device/cuda/CudaDevice.h"

#include "runtime/device/HostCopy.h"

#include <gtest/gtest.h>

#include <thread>

namespace reciperun::device {
namespace {

CudaKernel noKernel(plan::OpKind) {
  return nullptr;
}

class CudaDeviceTest : public testing::Test {
protected:
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

  std::unique_ptr<CudaDevice> gpu;
};

TEST_F(CudaDeviceTest, bytesComeBack) {
  // More than all that is pinned, in pieces that no segment holds evenly.
  auto arena = gpu->allocate(int64_t(100) << 20, 0);
  ASSERT_TRUE(arena) << arena.message();
  std::vector<std::byte> given(size_t(arena->bytes()));
  for (size_t i = 0; i < given.size(); ++i)
    given[i] = std::byte(i * 2654435761u >> 11);
  for (size_t at = 0, count = 1; at < given.size(); at += count, count *= 3) {
    count = std::min(count, given.size() - at);
    ASSERT_TRUE(
        gpu->upload(arena->base() + at, std::span(given).subspan(at, count)));
  }
  std::vector<std::byte> taken(given.size());
  ASSERT_TRUE(gpu->download(taken, arena->base()));
  EXPECT_TRUE(taken == given);
  ASSERT_TRUE(gpu->clear(arena->base() + 5, 1000));
  ASSERT_TRUE(gpu->download(std::span(taken).first(2000), arena->base()));
  EXPECT_EQ(taken[4], given[4]);
  EXPECT_EQ(taken[5], std::byte(0));
  EXPECT_EQ(taken[1004], std::byte(0));
  EXPECT_EQ(taken[1005], given[1005]);
  wait();
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
      EXPECT_TRUE(std::all_of(values, values + piece.elements(),
                              [](int32_t value) { return value == 0; }));
      return Status::ok();
    }));
    EXPECT_EQ(seen, shape[0]);
    ASSERT_TRUE(writePieces(*gpu, all, [](const Tensor& piece, int64_t) {
      std::fill_n(piece.as<int32_t>(), piece.elements(), 7);
      return Status::ok();
    }));
    EXPECT_EQ(*readElement<int32_t>(*gpu, all, shape[0] - 1), 7);
  }
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

TEST_F(CudaDeviceTest, aLackOfMemorySaysHowMuchThereIs) {
  auto arena = gpu->allocate(int64_t(1) << 50, 0);
  ASSERT_FALSE(arena);
  EXPECT_NE(arena.message().find("the plan takes 1048576.0 GiB of a GPU"),
            std::string::npos)
      << arena.message();
  EXPECT_NE(arena.message().find("are free"), std::string::npos);
}

} // namespace
} // namespace reciperun::device
