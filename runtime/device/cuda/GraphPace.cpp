// The kernel that sets a graph's word is in line with the graph's other nodes:
// a separate branch would take another queue and a longer launch.

#include "runtime/device/cuda/GraphPace.h"

#include "runtime/device/cuda/CudaError.h"
#include "runtime/device/cuda/GraphNodes.h"
#include "runtime/device/cuda/HostWords.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace reciperun::device {

GraphPace::~GraphPace() {
  cudaFreeHost(words);
}

Status GraphPace::open() {
  RECIPERUN_CUDA_TRY(cudaHostAlloc, reinterpret_cast<void**>(&words),
                     mostWords * sizeof(uint32_t), cudaHostAllocDefault);
  return Status::ok();
}

Expected<GraphPace::Followed> GraphPace::follow(cudaGraph_t graph) {
  const auto nodes = nodesOf(graph);
  RECIPERUN_TRY(nodes);
  const size_t count = nodes->size();
  const auto takesPlace = [](cudaGraphNode_t node) {
    return kindOf(node) != NodeKind::kernel;
  };
  const auto places = size_t(std::ranges::count_if(*nodes, takesPlace));
  if (places < tiny || taken == mostWords)
    return Followed();
  for (size_t number = count - std::min(tail, count / 2); number > 0;) {
    const cudaGraphNode_t node = (*nodes)[--number];
    const auto behind = nodesBehind(node);
    RECIPERUN_TRY(behind);
    if (behind->nodes.empty() || behind->isEarly)
      continue;
    uint32_t* const word = words + taken++;
    RECIPERUN_TRY(insertWord(graph, node, behind->nodes, word));
    return Followed{word, places};
  }
  return Followed();
}

/// Inserts the word's kernel between a node and its successors.
Status GraphPace::insertWord(cudaGraph_t graph, cudaGraphNode_t node,
                             const std::vector<cudaGraphNode_t>& waiting,
                             uint32_t* word) {
  const Expected<cudaGraphNode_t> added = addWord(graph, node, word);
  RECIPERUN_TRY(added);
  const std::vector<cudaGraphNode_t> before(waiting.size(), node);
  const std::vector<cudaGraphNode_t> now(waiting.size(), *added);
  RECIPERUN_CUDA_TRY(cudaGraphRemoveDependencies, graph, before.data(),
                     waiting.data(), nullptr, waiting.size());
  RECIPERUN_CUDA_TRY(cudaGraphAddDependencies, graph, now.data(),
                     waiting.data(), nullptr, waiting.size());
  return Status::ok();
}

Status GraphPace::next(const Followed& graph, cudaStream_t stream) {
  if (!graph.word)
    return Status::ok();
  while (!mayLaunch(graph))
    RECIPERUN_TRY(waitFor(launched.front().word, stream));
  // The word of the previous launch has been seen.
  std::atomic_ref(*graph.word).store(0);
  launched.push_back(graph);
  return Status::ok();
}

/// A graph has only one word, so it is launched again only after it has set the
/// word.
bool GraphPace::mayLaunch(const Followed& graph) {
  while (!launched.empty() && std::atomic_ref(*launched.front().word).load())
    launched.pop_front();
  size_t ahead = 0;
  for (const Followed& each : launched) {
    if (each.word == graph.word)
      return false;
    ahead += each.places;
  }
  return ahead <= few;
}

Status GraphPace::waitFor(uint32_t* word, cudaStream_t stream) const {
  // A check takes the host some 20 us. The host waits at most a quarter longer
  // than needed, or 20 ms, which the tail covers.
  constexpr std::chrono::microseconds shortest(1000), longest(20'000);
  constexpr int looks = 8; // between checks for failures
  const std::atomic_ref said(*word);
  std::chrono::microseconds waited(0);
  for (int look = 0; said.load() == 0; ++look) {
    if (look % looks == 0) {
      const cudaError_t code = cudaStreamQuery(stream);
      if (code != cudaErrorNotReady)
        return cudaStatus(code, "cudaStreamQuery"); // all done, or failed
      cudaGetLastError();
    }
    const auto pause = std::clamp(waited / 4, shortest, longest);
    std::this_thread::sleep_for(pause);
    waited += pause;
  }
  return Status::ok();
}

} // namespace reciperun::device
