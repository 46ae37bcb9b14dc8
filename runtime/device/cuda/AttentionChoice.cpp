// Trials of attention: numbers between -1 and 1, of which scores are small, so
// that every element of the results is finite and tells engines apart. A
// backward takes any output and lse.

#include "runtime/device/cuda/AttentionChoice.h"

#include "runtime/device/BFloat16.h"
#include "runtime/device/cuda/CudaError.h"

#include <algorithm>
#include <random>
#include <vector>

namespace reciperun::device {
namespace {

using Shape = AttentionPlans::Shape;

/// What is done in less than about 20 us is not worth seconds of compiling.
constexpr double worthMeasuring = 1e10;

constexpr int64_t elementBytes = sizeof(bf16);

/// The float of four such bytes, an lse: 3.004.
constexpr int lseByte = 0x40;

/// Memory and a stream of a trial's own, given back with it.
class TrialMemory {
public:
  TrialMemory() = default;
  TrialMemory(const TrialMemory&) = delete;
  TrialMemory& operator=(const TrialMemory&) = delete;
  ~TrialMemory() {
    for (void* address : taken)
      cudaFree(address);
    if (own)
      cudaStreamDestroy(own);
  }

  Status open() {
    RECIPERUN_CUDA_TRY(cudaStreamCreateWithFlags, &own, cudaStreamNonBlocking);
    return Status::ok();
  }
  cudaStream_t stream() const { return own; }

  Status take(void*& address, int64_t bytes) {
    const cudaError_t code =
        cudaMalloc(&address, size_t(std::max(bytes, int64_t(256))));
    if (code == cudaErrorMemoryAllocation)
      cudaGetLastError(); // it would be taken for a launch's
    RECIPERUN_TRY(cudaStatus(code, "cudaMalloc"));
    taken.push_back(address);
    return Status::ok();
  }

  /// Bytes that are all the same.
  Status takeSet(void*& address, int64_t bytes, int value) {
    RECIPERUN_TRY(take(address, bytes));
    RECIPERUN_CUDA_TRY(cudaMemsetAsync, address, value, size_t(bytes), own);
    return Status::ok();
  }

  /// bf16 between -1 and 1: the same megabyte again and again, of a length that
  /// no row has.
  Status takeFilled(const void*& address, int64_t elements, unsigned seed) {
    constexpr int64_t once = (1 << 19) - 24;
    std::mt19937 generator(seed);
    std::vector<bf16> numbers(size_t(std::min(once, elements)));
    for (bf16& number : numbers)
      number = bf16(float(int32_t(generator())) * 0x1p-31f);
    void* data = nullptr;
    RECIPERUN_TRY(take(data, elements * elementBytes));
    address = data;
    for (int64_t at = 0; at < elements; at += once)
      RECIPERUN_CUDA_TRY(cudaMemcpyAsync, static_cast<bf16*>(data) + at,
                         numbers.data(),
                         size_t(std::min(once, elements - at)) * sizeof(bf16),
                         cudaMemcpyHostToDevice, own);
    return Status::ok();
  }

private:
  cudaStream_t own = nullptr;
  std::vector<void*> taken;
};

/// Elements in memory, first to last, of a shape that may be a part of them.
int64_t elementsOf(const Shape& s, bool isOfQueries) {
  const int64_t rows = isOfQueries ? s.queries : s.keys;
  const int64_t all = isOfQueries ? s.queryRows : s.keyRows;
  return ((s.batch - 1) * (all ? all : rows) + rows) *
         (isOfQueries ? s.heads : s.keyHeads) * s.width;
}

/// Queries of all heads.
int64_t rowsOf(const Shape& s) {
  return s.batch * s.heads * s.queries;
}

/// Of the forward, masked or not.
double operationsOf(const Shape& s) {
  return 4.0 * double(rowsOf(s)) * double(s.keys) * double(s.width);
}

template <class Graph>
Expected<CudnnChoice> choose(CudnnGraph& graph, const Graph& tensors,
                             const typename Graph::Data& data,
                             TrialMemory& memory,
                             std::vector<CudnnOutput> outputs,
                             int64_t workspaceBytes, bool isRepeatable) {
  void* workspace = nullptr;
  RECIPERUN_TRY(memory.take(workspace,
                            tensors.ownBytes() + alignedBytes(workspaceBytes)));
  const CudnnTrial trial{
      [&](CudnnPlan& plan) {
        return enqueue(tensors, plan, data, workspace, memory.stream());
      },
      std::move(outputs), workspaceBytes, isRepeatable, memory.stream()};
  return chooseByTime(graph, trial);
}

} // namespace

bool isWorthMeasuring(const Shape& shape) {
  return operationsOf(shape) >= worthMeasuring;
}

Expected<CudnnChoice> chooseAttention(const Shape& shape, CudnnGraph& graph,
                                      const ForwardGraph& tensors,
                                      int64_t workspaceBytes) {
  const int64_t queries = elementsOf(shape, true),
                keys = elementsOf(shape, false), rows = rowsOf(shape);
  TrialMemory memory;
  AttentionPlans::Forward data;
  RECIPERUN_TRY(memory.open());
  RECIPERUN_TRY(memory.takeFilled(data.q, queries, 1));
  RECIPERUN_TRY(memory.takeFilled(data.k, keys, 2));
  RECIPERUN_TRY(memory.takeFilled(data.v, keys, 3));
  RECIPERUN_TRY(memory.takeSet(data.out, queries * elementBytes, 0));
  RECIPERUN_TRY(memory.takeSet(data.lse, rows * int64_t(sizeof(float)), 0));
  return choose(graph, tensors, data, memory,
                {{data.out, queries, false}, {data.lse, rows, true}},
                workspaceBytes, /*isRepeatable=*/true);
}

Expected<CudnnChoice> chooseAttention(const Shape& shape, CudnnGraph& graph,
                                      const BackwardGraph& tensors,
                                      int64_t workspaceBytes) {
  const int64_t queries = elementsOf(shape, true),
                keys = elementsOf(shape, false);
  TrialMemory memory;
  AttentionPlans::Backward data;
  RECIPERUN_TRY(memory.open());
  RECIPERUN_TRY(memory.takeFilled(data.q, queries, 1));
  RECIPERUN_TRY(memory.takeFilled(data.k, keys, 2));
  RECIPERUN_TRY(memory.takeFilled(data.v, keys, 3));
  RECIPERUN_TRY(memory.takeFilled(data.dout, queries, 4));
  RECIPERUN_TRY(memory.takeFilled(data.out, queries, 5));
  void* lse = nullptr;
  RECIPERUN_TRY(
      memory.takeSet(lse, rowsOf(shape) * int64_t(sizeof(float)), lseByte));
  data.lse = lse;
  RECIPERUN_TRY(memory.takeSet(data.dq, queries * elementBytes, 0));
  RECIPERUN_TRY(memory.takeSet(data.dk, keys * elementBytes, 0));
  RECIPERUN_TRY(memory.takeSet(data.dv, keys * elementBytes, 0));
  return choose(graph, tensors, data, memory,
                {{data.dq, queries, false},
                 {data.dk, keys, false},
                 {data.dv, keys, false}},
                workspaceBytes, shape.isDeterministic);
}

} // namespace reciperun::device
