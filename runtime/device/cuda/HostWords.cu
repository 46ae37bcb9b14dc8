// See HostWords.h.

#include "runtime/device/cuda/CudaError.h"
#include "runtime/device/cuda/HostWords.h"

namespace reciperun::device {
namespace {

__global__ void set(volatile uint32_t* words, uint32_t value) {
  words[threadIdx.x] = value;
}

__global__ void note(volatile uint64_t* word) {
  uint64_t time = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  *word = time;
}

} // namespace

Status setWords(uint32_t* words, int count, uint32_t value,
                cudaStream_t stream) {
  set<<<1, unsigned(count), 0, stream>>>(words, value);
  return launchStatus();
}

Status noteTime(uint64_t* word, cudaStream_t stream) {
  note<<<1, 1, 0, stream>>>(word);
  return launchStatus();
}

Expected<cudaGraphNode_t> addWord(cudaGraph_t graph, cudaGraphNode_t behind,
                                  uint32_t* word) {
  uint32_t value = 1;
  void* arguments[] = {&word, &value};
  cudaKernelNodeParams params = {};
  params.func = reinterpret_cast<void*>(set);
  params.gridDim = params.blockDim = dim3(1);
  params.kernelParams = arguments;
  cudaGraphNode_t node = nullptr;
  RECIPERUN_CUDA_TRY(cudaGraphAddKernelNode, &node, graph, &behind, 1, &params);
  return node;
}

} // namespace reciperun::device
