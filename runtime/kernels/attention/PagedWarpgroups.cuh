// Attention over pages for many tokens of a sequence, in bf16 by the warpgroups
// of Hopper (Shah et al. 2024, "FlashAttention-3"). It supports aligned heads
// of up to 128 elements; PagedTiles.cuh supports the others.
//
// A thread block processes items, one after another: 128 queries of one head
// against tiles of 128 positions of their sequence. One warpgroup copies the
// keys and values (PagedCopies.cuh). Two other warpgroups compute, each for 64
// of the queries. The steps of neighbouring tiles overlap: while the tensor
// cores compute
//
//   scores of the next tile = queries keys^T
//   out += weights of this tile, in registers, times its values
//
// a warpgroup turns the scores into the weights of the next tile. At the end of
// an item, out is divided by the sum of the weights.

#ifndef RECIPERUN_KERNELS_ATTENTION_PAGEDWARPGROUPS_CUH
#define RECIPERUN_KERNELS_ATTENTION_PAGEDWARPGROUPS_CUH

#include "runtime/kernels/attention/PagedCopies.cuh"

namespace reciperun::kernels::cuda {

/// A computing warpgroup of a block that uses PagedTilesInShared.
template <int width, class Data> class PagedReader {
  using Shared = PagedTilesInShared<width, typename Data::Element>;
  using Run = PagedRun<Shared::tileKeys, Data>;
  static constexpr int tileKeys = Shared::tileKeys, boxes = Shared::boxes;
  static constexpr int steps = tileKeys / 16; // matmuls of a tile's values
  static constexpr int boxBytes = Shared::rowsOfBox * Shared::rowBytes;

public:
  /// `group` is the index of the warpgroup among the computing ones.
  __device__ PagedReader(const PagedItems<Data>& items, const Shared& shared,
                         PagedTileBarriers& barriers, int group, int thread)
      : items(items), rule(items.step.shape), shared(shared),
        barriers(barriers), group(group), thread(thread), lane(thread % 32) {}

  __device__ void run() {
    int item = items.first;
    startQueries(item);
    while (item < items.count()) {
      const Run seen(items.step, items.data, queries, items.headOf(item));
      item += items.blocks;
      attend(seen, item);
      store(seen);
    }
  }

private:
  /// Computes the output of an item, and starts to copy the queries of the next
  /// one.
  __device__ __forceinline__ void attend(const Run& seen, int nextItem) {
    waitForQueries();
    out.clear();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      maximum[half] = nothingSeenYet;
      sum[half] = 0;
    }
    int tile = seen.firstTile();
    startScores();
    WideSums::wait<0>();
    absorb(seen, tile);
    barriers.markFree(PagedSide::keys, number);
    packWeights();
    for (tile = seen.next(tile + 1); tile < seen.tiles();
         tile = seen.next(tile + 1)) {
      ++number;
      startScores();
      startSums(number - 1);
      WideSums::wait<1>();
      barriers.markFree(PagedSide::keys, number);
      absorb(seen, tile);
      endSums(number - 1);
      rescaleSums();
      packWeights();
    }
    startSums(number);
    syncThreads(); // all have read the queries
    startQueries(nextItem);
    endSums(number);
    ++number;
  }

  /// Starts to copy this warpgroup's queries of an item, if there is one.
  __device__ __forceinline__ void startQueries(int item) {
    if (item >= items.count())
      return;
    queries = items.runOf(item);
    const Run seen(items.step, items.data, queries, items.headOf(item));
    constexpr int rowsAtOnce = 16;
    const int first = thread / 8, chunk = thread % 8;
#pragma unroll
    for (int i = 0; i < 64 / rowsAtOnce; ++i) {
      const int row = group * 64 + first + i * rowsAtOnce;
      const bool isThere = row < queries.count;
      const Bf16* const from = items.data.q + seen.queryAt(isThere ? row : 0);
#pragma unroll
      for (int box = 0; box < boxes; ++box) {
        const int at = (box * 8 + chunk) * chunkSize;
        const bool isInside = isThere && at < items.step.shape.width;
        copyChunk(uint32_t(__cvta_generic_to_shared(
                      queryBox(box) + i * rowsAtOnce * Shared::rowBytes +
                      Shared::chunkInBox(first, chunk))),
                  from + (isInside ? at : 0), isInside);
      }
    }
    commitCopies();
  }

  __device__ __forceinline__ void waitForQueries() const {
    waitForCopies<0>();
    ptx::fence_proxy_async(ptx::space_shared);
    syncThreads();
  }

  /// A barrier for the threads of this warpgroup.
  __device__ __forceinline__ void syncThreads() const {
    asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
  }

  /// This warpgroup's queries, 64 rows of a box.
  __device__ char* queryBox(int box) const {
    return shared.queries + (group * boxes + box) * boxBytes;
  }

  /// Starts scores = queries keys^T.
  __device__ __forceinline__ void startScores() {
    barriers.waitUntilReady(PagedSide::keys, number);
    scores.clear();
    WideSums::begin();
    const char* const keys = shared.tile(PagedSide::keys, number);
#pragma unroll
    for (int box = 0; box < boxes; ++box) {
      const OperandTile<false> left(queryBox(box)),
          right(keys + Shared::boxOfKey(0, box));
#pragma unroll
      for (int step = 0; step < 4; ++step)
        scores.add(left.at(step), right.at(step));
    }
    WideSums::commit();
  }

  /// Starts out += weights values.
  __device__ __forceinline__ void startSums(int tile) {
    barriers.waitUntilReady(PagedSide::values, tile);
    out.pin();
    WideSums::begin();
    const char* const values = shared.tile(PagedSide::values, tile);
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      const OperandTile<true> right(values +
                                    Shared::boxOfValue(step / 4 * 64, 0));
      out.addAcross(weights[step], right.at(step % 4));
    }
    WideSums::commit();
  }

  /// Waits for the matmuls of startSums(), which read the weights until then.
  __device__ __forceinline__ void endSums(int tile) {
    WideSums::wait<0>();
    out.pin();
#pragma unroll
    for (int step = 0; step < steps; ++step)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        asm volatile("" : "+r"(weights[step][i])::"memory");
    barriers.markFree(PagedSide::values, tile);
  }

  __device__ __forceinline__ void packWeights() {
#pragma unroll
    for (int step = 0; step < steps; ++step)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        weights[step][i] =
            pack(scores.of[8 * step + 2 * i], scores.of[8 * step + 2 * i + 1]);
  }

  /// Sets scores to -infinity where a query does not see a position.
  __device__ __forceinline__ void mask(const Run& seen, int tile) {
    if (rule.isCapped())
#pragma unroll
      for (int i = 0; i < tileKeys / 2; ++i)
        scores.of[i] = rule.score<true>(scores.of[i]);
    if (seen.isWhole(tile))
      return;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const SeenColumns isSeen = seen.seenBy(rowOf(half), tile);
#pragma unroll
      for (int n = 0; n < tileKeys / 8; ++n)
#pragma unroll
        for (int i = 0; i < 2; ++i)
          if (!isSeen(n * 8 + lane % 4 * 2 + i))
            scores.of[4 * n + 2 * half + i] = -INFINITY;
    }
  }

  /// Updates the softmax with a tile's scores and turns them into exp(score -
  /// maximum). On entry they are unscaled, unless there is a softcap; the
  /// maximum is in units of log 2.
  __device__ __forceinline__ void absorb(const Run& seen, int tile) {
    scores.pin();
    mask(seen, tile);
    const float factor = rule.isCapped() ? 1.0f : rule.factor;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float most = -INFINITY;
#pragma unroll
      for (int n = 0; n < tileKeys / 8; ++n)
        most = fmaxf(most, fmaxf(scores.of[4 * n + 2 * half],
                                 scores.of[4 * n + 2 * half + 1]));
      const float raised = fmaxf(maximum[half], largestOfRow(most) * factor);
      rescale[half] = powerOf2(maximum[half] - raised);
      maximum[half] = raised;
      sum[half] *= rescale[half];
#pragma unroll
      for (int n = 0; n < tileKeys / 8; ++n)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& each = scores.of[4 * n + 2 * half + i];
          each = powerOf2(fmaf(each, factor, -raised));
          sum[half] += each;
        }
    }
  }

  __device__ __forceinline__ void rescaleSums() {
    if (!__any_sync(~0u, rescale[0] != 1 || rescale[1] != 1))
      return;
#pragma unroll
    for (int i = 0; i < width / 2; ++i)
      out.of[i] *= rescale[i / 2 % 2];
  }

  /// The row in the block of this lane's row in a half of its warp's 16 rows.
  __device__ int rowOf(int half) const {
    return group * 64 + thread / 32 * 16 + half * 8 + lane / 4;
  }

  __device__ __forceinline__ void store(const Run& seen) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float factor = 1.0f / sumOfRow(sum[half]);
      const int row = rowOf(half);
      Bf16* const to = seen.data.out + seen.queryAt(row);
#pragma unroll
      for (int n = 0; n < width / 8; n += 4) {
        // First pairs of columns of four 8 x 8 matrices; after the
        // transposition eight columns of one matrix per lane.
        Vector<uint32_t, 4> words;
#pragma unroll
        for (int i = 0; i < 4; ++i)
          words.elements[i] = pack(out.of[4 * (n + i) + 2 * half] * factor,
                                   out.of[4 * (n + i) + 2 * half + 1] * factor);
        transposeQuad(words.elements);
        const int column = (n + lane % 4) * chunkSize;
        if (row < seen.own.count && column < seen.step.shape.width)
          words.store(reinterpret_cast<uint32_t*>(to + column));
      }
    }
  }

  const PagedItems<Data>& items;
  const ScoreRule rule;
  const Shared& shared;
  PagedTileBarriers& barriers;
  const int group, thread, lane;
  int number = 0;   // of the tile, over all items
  QueryRun queries; // of the item whose queries have been copied last
  WarpgroupSums<tileKeys> scores;
  WarpgroupSums<width> out;
  uint32_t weights[steps][4];
  float maximum[2];
  float rescale[2]; // factor for the sums, due to the last tile
  float sum[2];     // over this lane's columns
};

template <int width, class Data> struct PagedWarpgroupBlock {
  using P = typename Data::Element;
  using Shared = PagedTilesInShared<width, P>;
  static constexpr int threads = 384, blockQueries = Shared::blockQueries;
  static constexpr int sharedBytes = Shared::bytes;

  __device__ static void run(const PagedItems<Data>& items, char* memory,
                             PagedTileBarriers& barriers) {
    const Shared shared(memory);
    if (threadIdx.x == 0) {
      barriers.open(/*copying=*/4, /*reading=*/8);
      ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    const int group = int(threadIdx.x) / 128, thread = int(threadIdx.x) % 128;
    // To widen rows in 8 bits, the copying warpgroup needs more registers.
    if (group == 2) {
      giveRegisters<isScaled<P> ? 88 : 56>();
      PagedCopier<width, Data>(items, shared, barriers, thread).run();
    } else {
      takeRegisters<isScaled<P> ? 208 : 224>();
      PagedReader<width, Data>(items, shared, barriers, group, thread).run();
    }
  }
};

/// One block for each multiprocessor. For pages in 8 bits two: the first half
/// of the blocks compute the tiles that see only tokens of the step.
template <int width, class P>
__global__ __launch_bounds__(384) void attendByWarpgroups(
    const __grid_constant__ PagedStep step,
    const __grid_constant__ PagedTileData<P> data,
    const __grid_constant__ PagedDivision division) {
  extern __shared__ __align__(128) char shared[];
#ifdef __CUDA_ARCH_FEAT_SM90_ALL // others have no such instructions
  __shared__ PagedTileBarriers barriers;
  startOverlapped();
  int block = int(blockIdx.x), blocks = int(gridDim.x);
  if constexpr (isScaled<P>) {
    blocks /= 2;
    if (block < blocks) {
      using Data = PagedTileData<Bf16, true>;
      const Data fresh = {data.q, data.fresh.keys, data.fresh.values, data.out};
      PagedWarpgroupBlock<width, Data>::run(
          PagedItems<Data>(step, fresh, division, block, blocks), shared,
          barriers);
      return;
    }
    block -= blocks;
  }
  using Data = PagedTileData<P>;
  PagedWarpgroupBlock<width, Data>::run(
      PagedItems<Data>(step, data, division, block, blocks), shared, barriers);
#endif
}

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_PAGEDWARPGROUPS_CUH
