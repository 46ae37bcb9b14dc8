// Ring attention blocks by cuDNN.
//
// Forward:
// 1. Write the block's own output, in bf16, to the op's `room`, and its lse to
//    the scratch.
// 2. Merge both with the sums so far, in f32, one warp per row.
// Backward:
// 1. Pack the lse of the queries in the block.
// 2. Write the block's gradients, in bf16, to the op's rooms. The lse
//    and the output are those of all blocks, so that the weights are those of
//    the whole softmax.
// 3. Add the gradients to the sums.

#include "runtime/kernels/attention/AttentionBlockLibrary.h"

#include "runtime/device/cuda/AttentionPlans.h"
#include "runtime/kernels/attention/AttentionLibrary.h"
#include "runtime/kernels/attention/AttentionShape.cuh"
#include "runtime/kernels/common/CudaTypes.cuh"
#include "runtime/kernels/common/Scratch.cuh"
#include "runtime/ops/AttentionOps.h"

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;

constexpr int lanes = 32, warps = 8, threads = lanes * warps;

/// The number of elements of a sum in a 16-byte access.
constexpr int pack = vectorLength<float>;
using Sums = Vector<float, pack>;

/// `count` tokens of each sequence, from `first` on. Memory holds `all` tokens.
struct Part {
  int64_t batch, first, count, all;
  int heads, width;

  __host__ __device__ int64_t rows() const { return batch * count * heads; }
  __host__ __device__ int64_t elements() const { return rows() * width; }

  /// The index in memory of token number i of the part.
  __device__ int64_t tokenAt(int64_t i) const {
    return i / count * all + first + i % count;
  }
  /// The offset in the lse [b, heads, all] in memory of a head of token number
  /// i.
  __device__ int64_t stateAt(int64_t i, int head) const {
    return (i / count * heads + head) * all + first + i % count;
  }
  /// The offset in the packed lse [b, heads, count] of the part.
  __device__ int64_t packedAt(int64_t i, int head) const {
    return (i / count * heads + head) * count + i % count;
  }
};

Part queriesOf(const LibraryBlock& block, const Tensor& q) {
  return {block.shape.batch, block.firstQuery,       block.shape.queries,
          q.shape[1],        int(block.shape.heads), int(block.shape.width)};
}
Part keysOf(const LibraryBlock& block, const Tensor& k) {
  return {block.shape.batch,         block.firstKey,
          block.shape.keys,          k.shape[1],
          int(block.shape.keyHeads), int(block.shape.width)};
}

/// The first element of a part in data [b, all, heads, width].
template <class T> T* beginOf(const Part& part, const Tensor& data) {
  return data.as<T>() + part.first * part.heads * part.width;
}

/// One warp per row of a head.
__global__ __launch_bounds__(threads) void mergeRows(Part part, bool isFirst,
                                                     const bfloat16* out,
                                                     const float* ownLse,
                                                     float* sum, float* lse) {
  const int64_t row = int64_t(blockIdx.x) * warps + threadIdx.y;
  if (row >= part.rows())
    return;
  const int head = int(row % part.heads);
  const int64_t token = row / part.heads;
  const int64_t state = part.stateAt(token, head);
  const float own = ownLse[part.packedAt(token, head)];
  const cuda::Merge merge(isFirst ? cuda::nothingSeenYet : lse[state], own);
  __syncwarp(); // all lanes have read the lse
  if (threadIdx.x == 0)
    lse[state] = merge.lse;
  const int64_t at = (part.tokenAt(token) * part.heads + head) * part.width;
  for (int d = int(threadIdx.x) * pack; d < part.width; d += lanes * pack) {
    const auto more = Vector<bfloat16, pack>::load(out + at + d);
    Sums next = isFirst ? Sums{} : Sums::load(sum + at + d);
#pragma unroll
    for (int e = 0; e < pack; ++e)
      next.elements[e] = merge.before * next[e] + merge.own * more[e];
    next.store(sum + at + d);
  }
}

__global__ __launch_bounds__(threads) void packStates(Part part,
                                                      const float* lse,
                                                      float* packed) {
  const int64_t i = int64_t(blockIdx.x) * threads + threadIdx.x;
  if (i >= part.rows())
    return;
  const int head = int(i % part.heads);
  const int64_t token = i / part.heads;
  packed[part.packedAt(token, head)] = lse[part.stateAt(token, head)];
}

template <bool isSum>
__global__ __launch_bounds__(threads) void addRows(Part part,
                                                   const bfloat16* from,
                                                   float* to) {
  const int64_t row = int64_t(part.heads) * part.width;
  const int64_t i = (int64_t(blockIdx.x) * threads + threadIdx.x) * pack;
  if (i >= part.elements())
    return;
  const int64_t at = part.tokenAt(i / row) * row + i % row;
  const auto more = Vector<bfloat16, pack>::load(from + at);
  Sums next = isSum ? Sums::load(to + at) : Sums{};
#pragma unroll
  for (int e = 0; e < pack; ++e)
    next.elements[e] += more[e];
  next.store(to + at);
}

/// Adds a gradient of the block, in bf16, to its sum. With `isZero` the sum
/// holds zeros and is not read. Widths are multiples of eight.
Status add(const Part& part, const Tensor& from, const Tensor& sum, bool isZero,
           cudaStream_t stream) {
  const auto kernel = isZero ? addRows<false> : addRows<true>;
  kernel<<<unsigned(ceilDivide(part.elements(), threads * pack)), threads, 0,
           stream>>>(part, from.as<bfloat16>(), sum.as<float>());
  return device::launchStatus();
}

bool hasRoom(const CudaKernelArgs& args, size_t first) {
  for (const Tensor& output : args.outputs)
    if (!output.present() || !areAligned(16, output.data))
      return false;
  return args.outputs.size() > first;
}

} // namespace

std::optional<Status> libraryBlockForward(const CudaKernelArgs& args) {
  const auto &in = args.inputs, &out = args.outputs;
  const auto block = libraryBlock(args.op, args.mesh, args.rank, in[0], in[1]);
  const bool isFirst =
      ops::AttentionBlockAttributes(args.op.attributes).step == 0;
  // The first block initialises the sum of every query, so it needs all
  // queries.
  if (!block || !hasRoom(args, 2) || (isFirst && block->firstQuery != 0))
    return std::nullopt;
  device::AttentionPlans& plans = args.context.attentionPlans();
  const Part queries = queriesOf(*block, in[0]), keys = keysOf(*block, in[1]);
  Scratch room(args.context);
  float* const lse = room.take<float>(queries.rows());
  const int64_t bytes = plans.forwardBytes(block->shape);
  if (bytes < 0 || bytes > room.leftBytes())
    return std::nullopt;
  bfloat16* const own = beginOf<bfloat16>(queries, out[2]);
  const cudaStream_t stream = args.context.stream();
  const device::AttentionPlans::Forward data{
      beginOf<bfloat16>(queries, in[0]), beginOf<bfloat16>(keys, in[1]),
      beginOf<bfloat16>(keys, in[2]), own, lse};
  if (Status status = plans.forward(block->shape, data,
                                    room.take<std::byte>(bytes), stream);
      !status.isOk())
    return status;
  mergeRows<<<unsigned(ceilDivide(queries.rows(), warps)), dim3(lanes, warps),
              0, stream>>>(queries, isFirst, out[2].as<bfloat16>(), lse,
                           out[0].as<float>(), out[1].as<float>());
  return device::launchStatus();
}

std::optional<Status> libraryBlockBackward(const CudaKernelArgs& args) {
  const auto &in = args.inputs, &out = args.outputs;
  const auto block = libraryBlock(args.op, args.mesh, args.rank, in[2], in[3]);
  if (!block || !hasRoom(args, 3) || !args.workspace.present())
    return std::nullopt;
  device::AttentionPlans& plans = args.context.attentionPlans();
  const Part queries = queriesOf(*block, in[2]), keys = keysOf(*block, in[3]);
  const bool isFirst =
      ops::AttentionBlockAttributes(args.op.attributes).step == 0;
  Scratch room(args.context);
  float* const lse = room.take<float>(queries.rows());
  const int64_t bytes = plans.backwardBytes(block->shape);
  if (bytes < 0 || bytes > args.workspace.bytes() || room.leftBytes() < 0)
    return std::nullopt;
  const cudaStream_t stream = args.context.stream();
  packStates<<<unsigned(ceilDivide(queries.rows(), threads)), threads, 0,
               stream>>>(queries, in[5].as<float>(), lse);
  const device::AttentionPlans::Backward data{
      beginOf<bfloat16>(queries, in[0]),  beginOf<bfloat16>(queries, in[1]),
      beginOf<bfloat16>(queries, in[2]),  beginOf<bfloat16>(keys, in[3]),
      beginOf<bfloat16>(keys, in[4]),     lse,
      beginOf<bfloat16>(queries, out[3]), beginOf<bfloat16>(keys, out[4]),
      beginOf<bfloat16>(keys, out[5])};
  auto run = [&]() -> Status {
    RECIPERUN_TRY(device::launchStatus());
    RECIPERUN_TRY(
        plans.backward(block->shape, data, args.workspace.data, stream));
    RECIPERUN_TRY(add(queries, out[3], out[0], isFirst, stream));
    RECIPERUN_TRY(add(keys, out[4], out[1], /*isZero=*/true, stream));
    return add(keys, out[5], out[2], /*isZero=*/true, stream);
  };
  return run();
}

} // namespace reciperun::kernels
