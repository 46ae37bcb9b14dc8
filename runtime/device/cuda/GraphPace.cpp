// A node that copies a word to the host, behind one of the graph's last.

#include "runtime/device/cuda/GraphPace.h"

#include "runtime/device/cuda/CudaError.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace reciperun::device {

GraphPace::~GraphPace() {
  cudaFree(one);
  cudaFreeHost(words);
}

Status GraphPace::open() {
  if (words)
    return Status::ok();
  RECIPERUN_CUDA_TRY(cudaMalloc, &one, sizeof(uint32_t));
  RECIPERUN_CUDA_TRY(cudaMemset, one, 1, sizeof(uint32_t));
  RECIPERUN_CUDA_TRY(cudaHostAlloc, reinterpret_cast<void**>(&words),
                     mostWords * sizeof(uint32_t), cudaHostAllocDefault);
  return Status::ok();
}

Expected<uint32_t*> GraphPace::follow(cudaGraph_t graph) {
  size_t count = 0;
  RECIPERUN_CUDA_TRY(cudaGraphGetNodes, graph, nullptr, &count);
  if (count < large || taken == mostWords)
    return nullptr;
  RECIPERUN_TRY(open());
  std::vector<cudaGraphNode_t> nodes(count);
  RECIPERUN_CUDA_TRY(cudaGraphGetNodes, graph, nodes.data(), &count);
  uint32_t* const word = words + taken++;
  cudaGraphNode_t copy = nullptr;
  RECIPERUN_CUDA_TRY(cudaGraphAddMemcpyNode1D, &copy, graph,
                     &nodes[count - tail], 1, word, one, sizeof(uint32_t),
                     cudaMemcpyDeviceToHost);
  return word;
}

Status GraphPace::next(uint32_t* word, cudaStream_t stream) {
  if (!word)
    return Status::ok();
  if (last)
    RECIPERUN_TRY(waitFor(last, stream));
  // What the graph said in its launch before has been seen, or is older.
  std::atomic_ref(*word).store(0);
  last = word;
  return Status::ok();
}

Status GraphPace::waitFor(const uint32_t* word, cudaStream_t stream) const {
  // A sixteenth more than needed, which the tail is for, and so 50 looks or so.
  constexpr std::chrono::microseconds shortest(500), longest(50'000);
  constexpr int looks = 8; // without asking for failures
  const auto& said = *reinterpret_cast<const volatile uint32_t*>(word);
  std::chrono::microseconds waited(0);
  for (int look = 0; said == 0; ++look) {
    if (look % looks == 0) {
      const cudaError_t code = cudaStreamQuery(stream);
      if (code != cudaErrorNotReady)
        return cudaStatus(code, "cudaStreamQuery"); // it has done all, or fails
      cudaGetLastError();
    }
    const auto pause = std::clamp(waited / 16, shortest, longest);
    std::this_thread::sleep_for(pause);
    waited += pause;
  }
  return Status::ok();
}

} // namespace reciperun::device
