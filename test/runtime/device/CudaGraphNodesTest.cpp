// Graphs in which kernels replace memset nodes. Skipped without a GPU.

#include "runtime/device/cuda/GraphNodes.h"

#include "runtime/device/cuda/CudaContext.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <vector>

#include <cuda_runtime_api.h>

namespace reciperun::device {
namespace {

class CudaGraphNodes : public testing::Test {
protected:
  static constexpr size_t size = 1 << 16;

  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0)
      GTEST_SKIP() << "there is no GPU";
    auto made = CudaContext::make(0);
    ASSERT_TRUE(made) << made.message();
    context = *std::move(made);
    void* taken = nullptr;
    ASSERT_EQ(cudaMalloc(&taken, size), cudaSuccess);
    memory = static_cast<std::byte*>(taken);
    ASSERT_EQ(cudaMemset(memory, 0x55, size), cudaSuccess);
    // cudaMemset returns early, and the context's stream does not wait for it.
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeRelaxed),
              cudaSuccess);
  }
  void TearDown() override {
    if (graph)
      cudaGraphDestroy(graph);
    cudaFree(memory);
  }
  cudaStream_t stream() const { return context->stream(); }

  /// Records a fill in the graph and fills the expected bytes.
  void fill(size_t begin, int value, size_t count) {
    ASSERT_EQ(cudaMemsetAsync(memory + begin, value, count, stream()),
              cudaSuccess);
    std::fill_n(expected.begin() + ptrdiff_t(begin), count, std::byte(value));
  }
  void copy(size_t to, size_t from, size_t count) {
    ASSERT_EQ(cudaMemcpyAsync(memory + to, memory + from, count,
                              cudaMemcpyDeviceToDevice, stream()),
              cudaSuccess);
    std::copy_n(expected.begin() + ptrdiff_t(from), count,
                expected.begin() + ptrdiff_t(to));
  }

  /// Runs the captured graph.
  void run() {
    ASSERT_EQ(cudaStreamEndCapture(stream(), &graph), cudaSuccess);
    runGraph();
  }
  /// Replaces memsets by kernels, runs the graph and checks memory.
  void runGraph() {
    const Status filled = fillByKernels(graph);
    ASSERT_TRUE(filled.isOk()) << filled.message();
    const auto nodes = nodesOf(graph);
    ASSERT_TRUE(nodes) << nodes.message();
    for (cudaGraphNode_t node : *nodes)
      ++kinds[kindOf(node)];
    cudaGraphExec_t executable = nullptr;
    ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(executable, stream()), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream()), cudaSuccess);
    cudaGraphExecDestroy(executable);
    std::vector<std::byte> found(size);
    ASSERT_EQ(cudaMemcpy(found.data(), memory, size, cudaMemcpyDeviceToHost),
              cudaSuccess);
    const auto [at, wanted] = std::ranges::mismatch(found, expected);
    EXPECT_TRUE(at == found.end())
        << "byte " << at - found.begin() << " is " << int(*at) << ", and "
        << int(*wanted) << " is expected";
  }

  std::unique_ptr<CudaContext> context;
  std::byte* memory = nullptr;
  std::vector<std::byte> expected =
      std::vector<std::byte>(size, std::byte(0x55));
  cudaGraph_t graph = nullptr;
  std::map<NodeKind, int> kinds;
};

TEST_F(CudaGraphNodes, kernelsFillAnyBytes) {
  const size_t sizes[] = {1, 2, 6, 12, 16, 1000, 4096, 20'000};
  size_t begin = 3;
  for (size_t count : sizes) {
    fill(begin, int(count % 251), count);
    begin += count + 5;
  }
  fill(32'768, 0xff, 30'000);
  run();
  EXPECT_EQ(kinds[NodeKind::kernel], int(std::size(sizes)) + 1);
  EXPECT_EQ(kinds[NodeKind::memset], 0);
}

TEST_F(CudaGraphNodes, theOrderStays) {
  fill(0, 1, 8000);
  copy(8000, 0, 8000);
  fill(0, 2, 8000);
  copy(16'000, 4000, 8000);
  fill(4000, 3, 16'000);
  run();
  EXPECT_EQ(kinds[NodeKind::kernel], 3);
  EXPECT_EQ(kinds[NodeKind::other], 2);
}

/// A graph built from nodes: two memsets after one, and one after both.
TEST_F(CudaGraphNodes, wordsKeepTheirValues) {
  cudaGraph_t captured = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream(), &captured), cudaSuccess);
  cudaGraphDestroy(captured);
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  auto add = [&](std::vector<cudaGraphNode_t> before, size_t begin,
                 unsigned value, unsigned bytes, size_t width, size_t height) {
    cudaMemsetParams params = {};
    params.dst = memory + begin;
    params.value = value;
    params.elementSize = bytes;
    params.width = width;
    params.height = height;
    params.pitch = bytes * width;
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddMemsetNode(&node, graph, before.data(), before.size(),
                                     &params),
              cudaSuccess);
    for (size_t i = 0; i < bytes * width * height; ++i)
      expected[begin + i] = std::byte(value >> 8 * (i % bytes));
    return node;
  };
  const cudaGraphNode_t first = add({}, 0, 0x01020304, 4, 100, 7);
  const cudaGraphNode_t left = add({first}, 6, 0x0506, 2, 33, 1);
  const cudaGraphNode_t right = add({first}, 1000, 0x07080910, 4, 5, 3);
  add({left, right}, 64, 0x1112, 2, 480, 1);
  runGraph();
  EXPECT_EQ(kinds[NodeKind::kernel], 4);
  EXPECT_EQ(kinds[NodeKind::memset], 0);
}

TEST_F(CudaGraphNodes, rowsApartStay) {
  constexpr size_t pitch = 512;
  ASSERT_EQ(cudaMemset2DAsync(memory, pitch, 7, 20, 3, stream()), cudaSuccess);
  for (size_t row = 0; row < 3; ++row)
    std::fill_n(expected.begin() + ptrdiff_t(row * pitch), 20, std::byte(7));
  run();
  EXPECT_EQ(kinds[NodeKind::memset], 1);
}

} // namespace
} // namespace reciperun::device
