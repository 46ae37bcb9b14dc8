// Attention of new tokens of one sequence to all tokens so far, whose keys and
// values are in a KV cache, on a GPU; see AttentionCached.cpp.
//
// 1. Write the new keys and values into the cache at their positions.
// 2. With many tokens, attention's own kernels run with the cache as keys, in
//    order. With few tokens, the positions are cut into pieces, which depend
//    only on the cache's size. A warp processes one head of a token and one
//    piece, 32 positions at a time. A lane computes the score of one position,
//    then a part of the width of the sum of values.
// 3. With few tokens, a warp merges the pieces of a head in order.

#include "runtime/kernels/attention/AttentionForward.cuh"
#include "runtime/kernels/attention/AttentionLaunch.cuh"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/Scratch.cuh"
#include "runtime/ops/AttentionOps.h"

#include <cstdio>

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using plan::DType;
using namespace cuda;

constexpr int lanes = 32, warps = 4;
/// From this number of tokens on, tiles of queries are faster.
constexpr int64_t manyTokens = 16;
constexpr int64_t shortestPiece = 128; // of positions

/// The sizes of a call, and the address of its positions.
struct Cached {
  const int32_t* positions;
  int tokens, heads, keyHeads, width;
  int64_t capacity; // of the cache, in tokens
  float scale, softcap;
  MaskRule rule;

  int64_t keyRow() const { return int64_t(keyHeads) * width; }

  /// The first position that a token sees.
  __device__ int64_t firstSeen(int position) const {
    int64_t first = 0;
    if (rule.window)
      first = max(first, position + 1 - rule.window);
    if (rule.chunk)
      first = max(first, position / rule.chunk * rule.chunk);
    return first;
  }
};

// ---- step 1

/// One thread block per token. A position outside the cache, which the CPU
/// rejects, ends the work on the GPU.
template <class T>
__global__ void remember(Cached sizes, int64_t row, const T* k, const T* v,
                         T* keys, T* values) {
  const int64_t token = blockIdx.x, position = sizes.positions[token];
  if (position >= sizes.capacity) {
    printf("attention_cached: position %d lies outside of a cache of %lld "
           "tokens\n",
           int(position), static_cast<long long>(sizes.capacity));
    __trap();
  }
  if (position < 0)
    return;
  for (int64_t i = threadIdx.x; i < row; i += blockDim.x) {
    keys[position * row + i] = k[token * row + i];
    values[position * row + i] = v[token * row + i];
  }
}

// ---- many tokens

/// Writes the segments and places of the tokens of both sides.
__global__ void describe(Cached sizes, int32_t* segments, int32_t* keySegments,
                         int32_t* keyPlaces) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < sizes.tokens)
    segments[i] = sizes.positions[i] < 0 ? -1 : 0;
  if (i < sizes.capacity) {
    keySegments[i] = 0;
    keyPlaces[i] = int32_t(i);
  }
}

Status attendMany(const Cached& sizes, const CudaKernelArgs& args) {
  Scratch room(args.context);
  auto* const segments = room.take<int32_t>(sizes.tokens);
  auto* const keySegments = room.take<int32_t>(sizes.capacity);
  auto* const keyPlaces = room.take<int32_t>(sizes.capacity);
  auto* const lse = room.take<float>(int64_t(sizes.tokens) * sizes.heads);
  if (room.leftBytes() < 0)
    return Status::error("attention_cached on GPUs takes caches of up to " +
                         std::to_string(device::cudaScratchBytes / 16) +
                         " tokens, not of " + std::to_string(sizes.capacity));
  constexpr int threads = 256;
  const int64_t count = std::max<int64_t>(sizes.tokens, sizes.capacity);
  describe<<<unsigned(ceilDivide(count, threads)), threads, 0,
             args.context.stream()>>>(sizes, segments, keySegments, keyPlaces);
  RECIPERUN_TRY(device::launchStatus());
  AttentionShape shape;
  shape.batch = 1;
  shape.heads = sizes.heads;
  shape.keyHeads = sizes.keyHeads;
  shape.width = sizes.width;
  shape.scale = sizes.scale;
  shape.softcap = sizes.softcap;
  shape.rule = sizes.rule;
  shape.queries = {segments, sizes.positions, nullptr, sizes.tokens};
  shape.keys = {keySegments, keyPlaces, nullptr, int(sizes.capacity)};
  const auto& out = args.outputs;
  return attentionForward(
      shape,
      {args.inputs[0].data, out[1].data, out[2].data, out[0].data, lse,
       out[0].type == DType::bf16, KeyBlock::whole},
      args.context, device::cudaScratchBytes - room.leftBytes());
}

// ---- few tokens

/// The pieces of the heads of the tokens. The result of a piece is the maximum
/// of its scores, the sum of their exponentials, and the weighted sum of
/// values, [tokens, heads, pieces].
struct Pieces {
  int64_t length;
  int count;
  float* limits; // [.., 2]
  float* sums;   // [.., width]
};

__device__ inline float sumOfWarp(float x) {
  for (int step = lanes / 2; step; step /= 2)
    x += __shfl_xor_sync(~0u, x, step);
  return x;
}
__device__ inline float largestOfWarp(float x) {
  for (int step = lanes / 2; step; step /= 2)
    x = fmaxf(x, __shfl_xor_sync(~0u, x, step));
  return x;
}

/// q . key, with q in shared memory. For n > 1 rows begin at multiples of 16
/// bytes.
template <int n, class T>
__device__ float dot(const float* q, const T* key, int width) {
  float sum = 0;
  for (int d = 0; d < width; d += n) {
    const auto part = Vector<T, n>::load(key + d);
#pragma unroll
    for (int i = 0; i < n; ++i)
      sum += q[d + i] * part[i];
  }
  return sum;
}

/// Step 2: neighbouring warps have neighbouring heads. A thread block has one
/// piece.
template <int n, class T>
__global__ __launch_bounds__(lanes* warps) void attendPieces(
    Cached sizes, Pieces pieces, const T* q, const T* keys, const T* values) {
  __shared__ float rows[warps][widestHead];
  constexpr int most = widestHead / lanes;
  const int lane = int(threadIdx.x), width = sizes.width;
  const int head = int(blockIdx.y) * warps + int(threadIdx.y);
  const int token = int(blockIdx.z), position = sizes.positions[token];
  if (head >= sizes.heads || position < 0)
    return;
  const int64_t first =
      max(sizes.firstSeen(position), int64_t(blockIdx.x) * pieces.length);
  const int64_t end =
      min(int64_t(position) + 1, (int64_t(blockIdx.x) + 1) * pieces.length);
  const int64_t row = int64_t(token) * sizes.heads + head;
  float* const query = rows[threadIdx.y];
  for (int d = lane; d < width; d += lanes)
    query[d] = float(q[row * width + d]);
  __syncwarp();
  const int64_t stride = int64_t(sizes.keyHeads) * width;
  const int64_t column = int64_t(head / (sizes.heads / sizes.keyHeads)) * width;
  float maximum = nothingSeenYet, total = 0, sums[most] = {};
  for (int64_t base = first; base < end; base += lanes) {
    const bool isThere = base + lane < end;
    float score = -INFINITY;
    if (isThere) {
      score = sizes.scale *
              dot<n>(query, keys + (base + lane) * stride + column, width);
      if (sizes.softcap > 0)
        score = sizes.softcap * tanhf(score / sizes.softcap);
    }
    const float raised = fmaxf(maximum, largestOfWarp(score));
    const float rescale = expf(maximum - raised);
    const float weight = expf(score - raised);
    maximum = raised;
    total = total * rescale + sumOfWarp(weight);
#pragma unroll
    for (int i = 0; i < most; ++i)
      sums[i] *= rescale;
    const int count = int(min(int64_t(lanes), end - base));
    for (int j = 0; j < count; ++j) {
      const float factor = __shfl_sync(~0u, weight, j);
      const T* const value = values + (base + j) * stride + column;
#pragma unroll
      for (int i = 0; i < most; ++i)
        if (const int d = lane + i * lanes; d < width)
          sums[i] += factor * float(value[d]);
    }
  }
  const int64_t at = row * pieces.count + blockIdx.x;
  if (lane == 0) {
    pieces.limits[2 * at] = maximum;
    pieces.limits[2 * at + 1] = total;
  }
#pragma unroll
  for (int i = 0; i < most; ++i)
    if (const int d = lane + i * lanes; d < width)
      pieces.sums[at * width + d] = sums[i];
}

/// Step 3: one warp per head of a token.
template <class T>
__global__ __launch_bounds__(lanes) void mergePieces(Cached sizes,
                                                     Pieces pieces, T* out) {
  const int64_t row = int64_t(blockIdx.y) * sizes.heads + blockIdx.x;
  const int position = sizes.positions[blockIdx.y];
  float maximum = nothingSeenYet, total = 0;
  const float* const limits = pieces.limits + row * pieces.count * 2;
  for (int i = 0; position >= 0 && i < pieces.count; ++i)
    maximum = fmaxf(maximum, limits[2 * i]);
  for (int i = 0; position >= 0 && i < pieces.count; ++i)
    total += limits[2 * i + 1] * expf(limits[2 * i] - maximum);
  for (int d = int(threadIdx.x); d < sizes.width; d += lanes) {
    float sum = 0;
    for (int i = 0; position >= 0 && i < pieces.count; ++i)
      sum += pieces.sums[(row * pieces.count + i) * sizes.width + d] *
             expf(limits[2 * i] - maximum);
    out[row * sizes.width + d] = rounded<T>(position < 0 ? 0.0f : sum / total);
  }
}

template <class T>
Status attendFew(const Cached& sizes, const CudaKernelArgs& args) {
  const int64_t rows = int64_t(sizes.tokens) * sizes.heads;
  const int64_t most = device::cudaScratchBytes / 4 / (sizes.width + 2) / rows -
                       2; // 1 KiB for alignment
  Pieces pieces;
  pieces.length = std::max(
      shortestPiece,
      ceilDivide(ceilDivide(sizes.capacity, std::max<int64_t>(1, most)),
                 lanes) *
          lanes);
  pieces.count = int(ceilDivide(sizes.capacity, pieces.length));
  Scratch room(args.context);
  pieces.limits = room.take<float>(rows * pieces.count * 2);
  pieces.sums = room.take<float>(rows * pieces.count * sizes.width);
  if (room.leftBytes() < 0)
    return Status::error(
        "attention_cached on GPUs has no room for the sums of " +
        std::to_string(rows) + " heads");
  const T* const q = args.inputs[0].as<T>();
  const T* const keys = args.outputs[1].as<T>();
  const T* const values = args.outputs[2].as<T>();
  const dim3 grid(unsigned(pieces.count),
                  unsigned(ceilDivide(sizes.heads, warps)),
                  unsigned(sizes.tokens));
  const dim3 block(lanes, warps);
  const cudaStream_t stream = args.context.stream();
  withVectors<T>(
      sizes.width,
      [&](auto n) {
        attendPieces<n.value>
            <<<grid, block, 0, stream>>>(sizes, pieces, q, keys, values);
      },
      keys);
  RECIPERUN_TRY(device::launchStatus());
  mergePieces<<<dim3(unsigned(sizes.heads), unsigned(sizes.tokens)), lanes, 0,
                stream>>>(sizes, pieces, args.outputs[0].as<T>());
  return device::launchStatus();
}

template <class T>
Status attend(const Cached& sizes, const CudaKernelArgs& args) {
  const auto &in = args.inputs, &out = args.outputs;
  remember<<<unsigned(sizes.tokens), 256, 0, args.context.stream()>>>(
      sizes, sizes.keyRow(), in[1].as<T>(), in[2].as<T>(), out[1].as<T>(),
      out[2].as<T>());
  RECIPERUN_TRY(device::launchStatus());
  return sizes.tokens < manyTokens ? attendFew<T>(sizes, args)
                                   : attendMany(sizes, args);
}

} // namespace

Status attentionCachedCudaKernel(const CudaKernelArgs& args) {
  const device::Tensor &q = args.inputs[0], &k = args.inputs[1];
  Cached sizes;
  sizes.positions = args.inputs[3].as<int32_t>();
  sizes.tokens = int(args.inputs[3].elements());
  sizes.heads = int(q.shape[2]);
  sizes.keyHeads = int(k.shape[2]);
  sizes.width = int(q.shape[3]);
  sizes.capacity = args.outputs[1].shape[0];
  const ops::AttentionCachedAttributes attributes(args.op.attributes);
  const double scale = attributes.scale;
  sizes.scale = float(scale != 0 ? scale : 1 / std::sqrt(double(sizes.width)));
  sizes.softcap = float(attributes.softcap);
  sizes.rule = {true, attributes.window, attributes.chunk};
  if (sizes.tokens == 0)
    return Status::ok();
  if (sizes.width > widestHead)
    return Status::error("attention on GPUs takes heads of up to " +
                         std::to_string(widestHead) + " elements, not of " +
                         std::to_string(sizes.width));
  return withDeviceType(args, q.type, [&]<class T>(DeviceType<T>) {
    return attend<T>(sizes, args);
  });
}

} // namespace reciperun::kernels
