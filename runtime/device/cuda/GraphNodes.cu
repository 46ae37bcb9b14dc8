// See GraphNodes.h.

#include "runtime/device/cuda/GraphNodes.h"

#include "runtime/device/cuda/CudaError.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace reciperun::device {
namespace {

constexpr int threads = 256;

template <class T> __global__ void fill(T* to, T value, size_t count) {
  for (size_t i = blockIdx.x * size_t(threads) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * threads)
    to[i] = value;
}

/// Contiguous bytes that repeat one value.
struct Row {
  void* to;
  uint32_t pattern; // 4 bytes; any multiple of the value's size may start it
  size_t bytes;
};

Row rowOf(const cudaMemsetParams& params) {
  const uint32_t value = params.value;
  const uint32_t pattern =
      params.elementSize == 1   ? (value & 0xff) * 0x01010101u
      : params.elementSize == 2 ? (value & 0xffff) * 0x00010001u
                                : value;
  return {params.dst, pattern,
          params.elementSize * params.width * params.height};
}

bool isRow(const cudaMemsetParams& params) {
  return params.height == 1 ||
         params.pitch == params.elementSize * params.width;
}

template <class T>
Expected<cudaGraphNode_t> addFill(cudaGraph_t graph,
                                  const std::vector<cudaGraphNode_t>& before,
                                  const Row& row, T value) {
  constexpr size_t mostBlocks = 1024;
  T* to = static_cast<T*>(row.to);
  size_t count = row.bytes / sizeof(T);
  void* arguments[] = {&to, &value, &count};
  cudaKernelNodeParams params = {};
  params.func = reinterpret_cast<void*>(fill<T>);
  const size_t blocks = (count + threads - 1) / threads;
  params.gridDim = dim3(unsigned(std::clamp<size_t>(blocks, 1, mostBlocks)));
  params.blockDim = dim3(threads);
  params.kernelParams = arguments;
  cudaGraphNode_t node = nullptr;
  RECIPERUN_CUDA_TRY(cudaGraphAddKernelNode, &node, graph, before.data(),
                     before.size(), &params);
  return node;
}

/// Adds a fill kernel with the largest word type that divides the row's address
/// and size.
Expected<cudaGraphNode_t> addFill(cudaGraph_t graph,
                                  const std::vector<cudaGraphNode_t>& before,
                                  const Row& row) {
  const size_t all = reinterpret_cast<uintptr_t>(row.to) | row.bytes;
  const uint32_t p = row.pattern;
  if (all % sizeof(uint4) == 0)
    return addFill(graph, before, row, uint4{p, p, p, p});
  if (all % sizeof(uint32_t) == 0)
    return addFill(graph, before, row, p);
  if (all % sizeof(uint16_t) == 0)
    return addFill(graph, before, row, uint16_t(p));
  return addFill(graph, before, row, uint8_t(p));
}

/// Leaves a memset that is not one contiguous row unchanged.
Status fillByKernel(cudaGraph_t graph, cudaGraphNode_t node) {
  cudaMemsetParams params = {};
  RECIPERUN_CUDA_TRY(cudaGraphMemsetNodeGetParams, node, &params);
  const auto before = nodesBefore(node), behind = nodesBehind(node);
  RECIPERUN_TRY(before);
  RECIPERUN_TRY(behind);
  if (!isRow(params) || before->isEarly || behind->isEarly)
    return Status::ok();
  const auto added = addFill(graph, before->nodes, rowOf(params));
  RECIPERUN_TRY(added);
  const std::vector<cudaGraphNode_t> from(behind->nodes.size(), *added);
  RECIPERUN_CUDA_TRY(cudaGraphAddDependencies, graph, from.data(),
                     behind->nodes.data(), nullptr, from.size());
  RECIPERUN_CUDA_TRY(cudaGraphDestroyNode, node);
  return Status::ok();
}

Expected<Neighbours> neighbours(decltype(&cudaGraphNodeGetDependencies) list,
                                cudaGraphNode_t node) {
  size_t count = 0;
  RECIPERUN_CUDA_TRY(list, node, nullptr, nullptr, &count);
  Neighbours found{std::vector<cudaGraphNode_t>(count)};
  std::vector<cudaGraphEdgeData> edges(count);
  RECIPERUN_CUDA_TRY(list, node, found.nodes.data(), edges.data(), &count);
  found.isEarly = std::ranges::any_of(edges, [](const auto& edge) {
    return edge.type != cudaGraphDependencyTypeDefault;
  });
  return found;
}

} // namespace

Expected<std::vector<cudaGraphNode_t>> nodesOf(cudaGraph_t graph) {
  size_t count = 0;
  RECIPERUN_CUDA_TRY(cudaGraphGetNodes, graph, nullptr, &count);
  std::vector<cudaGraphNode_t> nodes(count);
  RECIPERUN_CUDA_TRY(cudaGraphGetNodes, graph, nodes.data(), &count);
  return nodes;
}

NodeKind kindOf(cudaGraphNode_t node) {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  // cudaGraphNodeGetType fails for kinds that only the driver API has.
  if (cudaGraphNodeGetType(node, &type) != cudaSuccess)
    cudaGetLastError();
  return type == cudaGraphNodeTypeKernel   ? NodeKind::kernel
         : type == cudaGraphNodeTypeMemset ? NodeKind::memset
                                           : NodeKind::other;
}

Expected<Neighbours> nodesBefore(cudaGraphNode_t node) {
  return neighbours(&cudaGraphNodeGetDependencies, node);
}

Expected<Neighbours> nodesBehind(cudaGraphNode_t node) {
  return neighbours(&cudaGraphNodeGetDependentNodes, node);
}

Status fillByKernels(cudaGraph_t graph) {
  const auto nodes = nodesOf(graph);
  RECIPERUN_TRY(nodes);
  for (cudaGraphNode_t node : *nodes)
    if (kindOf(node) == NodeKind::memset)
      RECIPERUN_TRY(fillByKernel(graph, node));
  return Status::ok();
}

} // namespace reciperun::device
