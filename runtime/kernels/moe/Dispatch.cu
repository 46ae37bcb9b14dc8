// Sorts tokens by expert, and the way back, on a GPU; see Dispatch.cpp.
//
//   1. The choices are cut into tiles. A block counts the choices of a tile by
//      expert; each warp counts a part of it.
//   2. One block adds the tiles' counts in order: the number of rows of an
//      expert, their first row, and the first row of each tile.
//   3. A block numbers the rows of a tile. The lanes of a warp that choose the
//      same expert find one another by a vote, and lower lanes come first.
//   4. Rows of experts are copied from their tokens (ExpertRows.cuh).
// A choice without a row, for which the CPU kernel returns an error, traps the
// GPU: it contradicts the plan and must not be lost silently.

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/moe/ExpertRows.cuh"
#include "runtime/sizes/KernelLimits.h"

#include <cstdio>

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;
using sizes::mostExperts;

constexpr int lanes = 32, warps = 8, threads = lanes * warps;
constexpr int scanWarps = 32;

/// The choices in tiles. A tile is a multiple of the block's threads.
struct Tiles {
  const int32_t* choices;
  int64_t count;  // of choices
  int64_t length; // of a tile: a multiple of `threads`
  int tiles, experts, members;
  int64_t places;  // of a group
  int32_t* begins; // [experts, tiles]: counts, then first rows

  /// Calls body(choice, its expert or -1) for the warp's part of the block's
  /// tile, 32 choices at a time.
  template <class Body> __device__ void forPart(Body body) const {
    const int64_t part = length / warps;
    const int64_t first = blockIdx.x * length + threadIdx.y * part;
    for (int64_t at = first; at < first + part; at += lanes) {
      const int64_t i = at + threadIdx.x;
      const int32_t expert = i < count ? choices[i] : -1;
      if (expert >= experts) {
        printf("dispatch: a token chose expert %d of %d\n", expert, experts);
        __trap();
      }
      body(i, expert < 0 ? -1 : expert);
    }
  }
};

/// counts[expert] of the warp += its choices. Returns the index of each choice
/// among the choices of its expert in the warp's part, starting at the previous
/// count.
__device__ int countChoice(int expert, int* counts) {
  const unsigned same = __match_any_sync(~0u, expert);
  const int before = __popc(same & ((1u << threadIdx.x) - 1));
  const int number = expert < 0 ? 0 : counts[expert] + before;
  __syncwarp();
  if (expert >= 0 && before == 0)
    counts[expert] += __popc(same);
  __syncwarp();
  return number;
}

/// The warps' counts of the block's tile, in shared memory [warps, experts].
__device__ void countTile(const Tiles& tiles, int* counts) {
  for (int i = int(threadIdx.y * lanes + threadIdx.x);
       i < warps * tiles.experts; i += threads)
    counts[i] = 0;
  __syncthreads();
  int* own = counts + int(threadIdx.y) * tiles.experts;
  tiles.forPart([&](int64_t, int expert) { countChoice(expert, own); });
  __syncthreads();
}

/// Step 1.
__global__ void __launch_bounds__(threads) countTiles(Tiles tiles) {
  extern __shared__ int tileCounts[];
  countTile(tiles, tileCounts);
  for (int e = int(threadIdx.y * lanes + threadIdx.x); e < tiles.experts;
       e += threads) {
    int sum = 0;
    for (int w = 0; w < warps; ++w)
      sum += tileCounts[w * tiles.experts + e];
    tiles.begins[int64_t(e) * tiles.tiles + blockIdx.x] = sum;
  }
}

__device__ int sumUpTo(int value) {
  for (int step = 1; step < lanes; step *= 2) {
    const int other = __shfl_up_sync(~0u, value, unsigned(step));
    value += int(threadIdx.x) >= step ? other : 0;
  }
  return value;
}

/// Step 2. A warp scans the tile counts of an expert; then a thread computes
/// its first row.
__global__ void __launch_bounds__(lanes* scanWarps)
    layExperts(Tiles tiles, int32_t* counts, int32_t* firsts) {
  for (int e = int(threadIdx.y); e < tiles.experts; e += scanWarps) {
    int32_t* begins = tiles.begins + int64_t(e) * tiles.tiles;
    int before = 0;
    for (int base = 0; base < tiles.tiles; base += lanes) {
      const int tile = base + int(threadIdx.x);
      const int own = tile < tiles.tiles ? begins[tile] : 0;
      const int upTo = sumUpTo(own);
      if (tile < tiles.tiles)
        begins[tile] = before + upTo - own;
      before += __shfl_sync(~0u, upTo, lanes - 1);
    }
    if (threadIdx.x == 0)
      counts[e] = before;
  }
  __syncthreads();
  for (int e = int(threadIdx.y * lanes + threadIdx.x); e < tiles.experts;
       e += lanes * scanWarps) {
    const int group = e / tiles.members;
    int64_t inside = 0;
    for (int other = group * tiles.members; other < e; ++other)
      inside += counts[other];
    if (inside + counts[e] > tiles.places) {
      printf("dispatch: the experts from %d on get %lld tokens or more, and "
             "have %lld places\n",
             group * tiles.members, (long long)(inside + counts[e]),
             (long long)tiles.places);
      __trap();
    }
    firsts[e] = int32_t(group * tiles.places + inside);
  }
}

/// Step 3.
__global__ void __launch_bounds__(threads)
    numberRows(Tiles tiles, const int32_t* firsts, int32_t* rows,
               int32_t* choiceOf) {
  extern __shared__ int tileCounts[];
  countTile(tiles, tileCounts);
  // Turn the counts into the first row of each warp.
  for (int e = int(threadIdx.y * lanes + threadIdx.x); e < tiles.experts;
       e += threads) {
    int next = firsts[e] + tiles.begins[int64_t(e) * tiles.tiles + blockIdx.x];
    for (int w = 0; w < warps; ++w) {
      int& own = tileCounts[w * tiles.experts + e];
      const int counted = own;
      own = next;
      next += counted;
    }
  }
  __syncthreads();
  int* own = tileCounts + int(threadIdx.y) * tiles.experts;
  tiles.forPart([&](int64_t choice, int expert) {
    const int row = countChoice(expert, own);
    if (choice >= tiles.count)
      return;
    rows[choice] = expert < 0 ? -1 : row;
    if (expert >= 0)
      choiceOf[row] = int32_t(choice);
  });
}

/// Steps 1 to 3. Stores the choice of each row in `choiceOf`.
Status layRows(const CudaKernelArgs& args, const ExpertRowsOnGpu& rows,
               int32_t*& choiceOf) {
  const Tensor &choices = args.inputs[1], &counts = args.outputs[2];
  const int64_t experts = counts.elements();
  if (experts > mostExperts)
    return Status::error("it sends tokens to " + std::to_string(experts) +
                         " experts, and on GPUs it does to at most " +
                         std::to_string(mostExperts));
  constexpr int64_t usualLength = 4 * threads;
  Scratch scratch(args.context);
  choiceOf = scratch.take<int32_t>(rows.count);
  auto* firsts = scratch.take<int32_t>(experts);
  const int64_t most =
      scratch.leftBytes() / (experts * int64_t(sizeof(int32_t)));
  if (scratch.leftBytes() < 0 || most < 1)
    return tooManyExpertRows(rows.count);
  const int64_t count = choices.elements();
  const int64_t turns = ceilDivide(ceilDivide(count, threads), most);
  const int64_t length = std::max(usualLength, turns * threads);
  const int64_t tileCount = ceilDivide(count, length);
  const Tiles tiles{choices.as<int32_t>(),
                    count,
                    length,
                    int(tileCount),
                    int(experts),
                    int(counts.shape[2]),
                    args.outputs[0].shape[1],
                    scratch.take<int32_t>(experts * tileCount)};
  const cudaStream_t stream = args.context.stream();
  const dim3 block(lanes, warps);
  const size_t bytes = size_t(warps * experts) * sizeof(int);
  RECIPERUN_CUDA_TRY(cudaMemsetAsync, choiceOf, 0xff,
                     size_t(rows.count) * sizeof(int32_t), stream);
  countTiles<<<unsigned(tileCount), block, bytes, stream>>>(tiles);
  layExperts<<<1, dim3(lanes, scanWarps), 0, stream>>>(
      tiles, counts.as<int32_t>(), firsts);
  numberRows<<<unsigned(tileCount), block, bytes, stream>>>(
      tiles, firsts, args.outputs[1].as<int32_t>(), choiceOf);
  return device::launchStatus();
}

} // namespace

Status dispatchCudaKernel(const CudaKernelArgs& args) {
  const Tensor &x = args.inputs[0], &gates = args.inputs[2],
               &y = args.outputs[0];
  const ExpertRowsOnGpu rows(args.outputs[1], x, y);
  int32_t* choiceOf = nullptr;
  RECIPERUN_TRY(layRows(args, rows, choiceOf));
  return withDeviceType(args, x.type, [&]<class T>(DeviceType<T>) {
    scatterToExperts(args, rows, choiceOf, x.as<T>(), gates.as<float>(),
                     y.as<T>());
  });
}

Status dispatchBackwardCudaKernel(const CudaKernelArgs& args) {
  const Tensor &dy = args.inputs[0], &x = args.inputs[2],
               &gates = args.inputs[3];
  const Tensor &dx = args.outputs[0], &dgates = args.outputs[1];
  const ExpertRowsOnGpu rows(args.inputs[1], dx, dy);
  return withDeviceType(args, dy.type, [&]<class T>(DeviceType<T>) {
    if (dgates.present())
      gradientOfGates(args, rows, x.as<T>(), dy.as<T>(), dgates.as<float>());
    gatherFromExperts<T>(args, rows, dy.as<T>(), gates.as<float>(), dx.as<T>());
  });
}

} // namespace reciperun::kernels
