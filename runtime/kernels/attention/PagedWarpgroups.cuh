// Attention over pages in bf16 for many tokens of a sequence, by the warpgroups
// of Hopper (Shah et al. 2024, "FlashAttention-3", without its specialized
// warps). It takes aligned heads of up to 128 elements; PagedTiles.cuh takes
// the others.
//
// A thread block processes 128 queries of one head, each of its two warpgroups
// 64 of them, and reads the keys and values of their sequence through the page
// table, 128 positions at a time:
//   1. copy the queries, and the keys and values of a tile, into shared memory;
//   2. wait for a tile of keys and values, and start to copy the next one;
//   3. scores = queries keys^T, masked where some are not seen; update the
//      softmax; out += weights values, with the weights in registers;
//   4. out / sum.
// Rows in 8 bits are copied as they are, and each thread widens what it has
// copied when it has arrived.

#ifndef RECIPERUN_KERNELS_ATTENTION_PAGEDWARPGROUPS_CUH
#define RECIPERUN_KERNELS_ATTENTION_PAGEDWARPGROUPS_CUH

#include "runtime/kernels/attention/PagedRun.cuh"
#include "runtime/kernels/common/MatrixFragments.cuh"
#include "runtime/kernels/common/WarpgroupMatmuls.cuh"

namespace reciperun::kernels::cuda {

/// Shared memory holds operands as the boxes of WarpgroupMatmuls.cuh: rows of
/// 64 elements.
template <int width, class P> class PagedWarpgroupBlock {
public:
  static constexpr int threads = 256, blockQueries = 128;

private:
  static constexpr int tileKeys = 128, boxes = width / 64;
  static constexpr int rowBytes = 128, rowsOfBox = 64; // of queries and values
  static constexpr int tileBytes = tileKeys * width * 2;
  static constexpr int queryBytes = blockQueries * width * 2;
  static constexpr int storedBytes = isScaled<P> ? 2 * tileKeys * width : 0;
  static constexpr int rowsAtOnce = threads / 8;
  static constexpr int rows = tileKeys / rowsAtOnce; // of a thread

public:
  /// Two tiles of keys and values, the slots of two tiles, and room to align
  /// the boxes.
  static constexpr int sharedBytes = queryBytes + 4 * tileBytes + storedBytes +
                                     2 * tileKeys * int(sizeof(int)) + 1024;

  __device__ PagedWarpgroupBlock(const PagedStep& step,
                                 const PagedTileData<P>& data,
                                 const QueryRun& run, int head, char* shared)
      : seen(step, data, run, head), rule(step.shape),
        queries(shared + (-__cvta_generic_to_shared(shared) & 1023)),
        group(int(threadIdx.x) / 128), lane(int(threadIdx.x) % 32),
        copyRow(int(threadIdx.x) / 8), copyChunkOfRow(int(threadIdx.x) % 8) {}

  __device__ void run() {
    copyQueries();
    int tile = seen.next(seen.first / tileKeys),
        following = seen.next(tile + 1);
    findSlots(tile, 0);
    findSlots(following, 1);
    __syncthreads();
    startCopy(0);
    out.clear();
    for (int turn = 0; tile < seen.tiles(); turn ^= 1) {
      waitForCopies<0>();
      finishCopy(turn);
      ptx::fence_proxy_async(ptx::space_shared); // the matmuls see the tile
      __syncthreads();
      startCopy(turn ^ 1);
      const int current = tile;
      tile = following;
      following = seen.next(tile + 1);
      findSlots(following, turn);
      score(turn);
      mask(current);
      absorb();
      accumulate(turn);
    }
    waitForCopies<0>();
    store();
  }

private:
  // ---- copies

  // Eight threads copy a row; a thread copies the rows copyRow + 32 i, in which
  // its chunks have one place in the boxes.

  /// The place of a chunk of a row in a box, swizzled.
  __device__ static int placeInBox(int row, int chunk) {
    return row * rowBytes + (chunk ^ (row & 7)) * 16;
  }
  /// The place of a box, for a row that is a multiple of 32: keys are in boxes
  /// of all rows, values and queries in boxes of 64.
  __device__ static constexpr int boxOfKey(int row, int box) {
    return box * (tileKeys * rowBytes) + row * rowBytes;
  }
  __device__ static constexpr int boxOfValue(int row, int box) {
    return (row / rowsOfBox * boxes + box) * (rowsOfBox * rowBytes) +
           row % rowsOfBox * rowBytes;
  }
  __device__ static constexpr int boxOf(PagedSide side, int row, int box) {
    return side == PagedSide::keys ? boxOfKey(row, box) : boxOfValue(row, box);
  }
  __device__ char* tileOf(PagedSide side, int turn) const {
    return queries + queryBytes + (2 * turn + int(side)) * tileBytes;
  }
  /// The slots of a tile's rows; -1 for rows that no query sees.
  __device__ int* slotsOf(int turn) const {
    return reinterpret_cast<int*>(queries + queryBytes + 4 * tileBytes +
                                  storedBytes) +
           turn * tileKeys;
  }

  __device__ __forceinline__ static void copyWord(void* to, const void* from,
                                                  bool isRead) {
    copyChunk(uint32_t(__cvta_generic_to_shared(to)),
              static_cast<const Bf16*>(from), isRead);
  }

  __device__ void copyQueries() const {
    char* const to = queries + placeInBox(copyRow, copyChunkOfRow);
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const int row = copyRow + i * rowsAtOnce;
      const bool isThere = row < seen.own.count;
      const Bf16* const from = seen.data.q + seen.queryAt(isThere ? row : 0);
#pragma unroll
      for (int box = 0; box < boxes; ++box) {
        const int at = (box * 8 + copyChunkOfRow) * 8;
        const bool isInside = isThere && at < seen.step.shape.width;
        copyWord(to + boxOfValue(i * rowsAtOnce, box),
                 from + (isInside ? at : 0), isInside);
      }
    }
  }

  /// Looks up the slots of a tile. A __syncthreads() comes before their use.
  __device__ __forceinline__ void findSlots(int tile, int turn) const {
    if (threadIdx.x < tileKeys)
      slotsOf(turn)[threadIdx.x] = seen.slotOf(tile, int(threadIdx.x));
  }

  /// Starts to copy a tile's keys and values. Rows without a slot become zeros.
  __device__ __forceinline__ void startCopy(int turn) {
    constexpr int n = 16 / int(sizeof(P)), words = width / n;
    const P *const keys = seen.column(PagedSide::keys) + copyChunkOfRow * n,
                   *const values =
                       seen.column(PagedSide::values) + copyChunkOfRow * n;
    const int place = isScaled<P> ? copyRow * width + copyChunkOfRow * 16
                                  : placeInBox(copyRow, copyChunkOfRow);
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const int slot = slotsOf(turn)[copyRow + i * rowsAtOnce];
      const int64_t at = int64_t(max(slot, 0)) * seen.step.keyRow();
      if constexpr (isScaled<P>)
        for (PagedSide side : {PagedSide::keys, PagedSide::values})
          scales[int(side)][i] = seen.scaleOf(side, slot);
#pragma unroll
      for (int piece = 0; piece < (words + 7) / 8; ++piece) {
        const int column = (piece * 8 + copyChunkOfRow) * n;
        if (words % 8 != 0 && column >= width)
          continue;
        const bool isRead = slot >= 0 && column < seen.step.shape.width;
        const int64_t from = isRead ? at + piece * 8 * n : 0;
#pragma unroll
        for (PagedSide side : {PagedSide::keys, PagedSide::values})
          copyWord(isScaled<P> ? stored(side) + place + i * rowsAtOnce * width +
                                     piece * 128
                               : tileOf(side, turn) + place +
                                     boxOf(side, i * rowsAtOnce, piece),
                   (side == PagedSide::keys ? keys : values) + from, isRead);
      }
    }
    commitCopies();
  }

  /// Makes the rows of a tile whose copies have arrived.
  __device__ __forceinline__ void finishCopy(int turn) const {
    if constexpr (isScaled<P>) {
#pragma unroll
      for (PagedSide side : {PagedSide::keys, PagedSide::values})
#pragma unroll
        for (int i = 0; i < rows; ++i)
#pragma unroll
          for (int piece = 0; piece < (width / 16 + 7) / 8; ++piece) {
            const int word = piece * 8 + copyChunkOfRow;
            if (width % 128 != 0 && word * 16 >= width)
              continue;
            const auto* const from = reinterpret_cast<const P*>(
                stored(side) + (copyRow + i * rowsAtOnce) * width + word * 16);
            char* const to =
                tileOf(side, turn) + boxOf(side, i * rowsAtOnce, word / 4);
#pragma unroll
            for (int half = 0; half < 2; ++half)
              widenChunk(from + half * chunkSize, scales[int(side)][i],
                         reinterpret_cast<Bf16*>(
                             to + placeInBox(copyRow, word % 4 * 2 + half)));
          }
    }
  }

  /// A tile's rows as they are stored in the pages.
  __device__ char* stored(PagedSide side) const {
    return queries + queryBytes + 4 * tileBytes + int(side) * tileKeys * width;
  }

  // ---- arithmetic

  /// scores = queries keys^T.
  __device__ __forceinline__ void score(int turn) {
    scores.clear();
    WideSums::begin();
#pragma unroll
    for (int box = 0; box < boxes; ++box) {
      const OperandTile<false> left(queries + (group * boxes + box) *
                                                  (rowsOfBox * rowBytes)),
          right(tileOf(PagedSide::keys, turn) + box * (tileKeys * rowBytes));
#pragma unroll
      for (int step = 0; step < 4; ++step)
        scores.add(left.at(step), right.at(step));
    }
    WideSums::commit();
    WideSums::wait<0>();
    scores.pin();
  }

  /// Hides what a query does not see: -infinity.
  __device__ __forceinline__ void mask(int tile) {
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

  /// Updates the softmax: scores become exp(score - maximum). They are products
  /// still, unless capped; the maximum is in units of log 2.
  __device__ __forceinline__ void absorb() {
    const float factor = rule.isCapped() ? 1.0f : rule.factor;
    float rescale[2];
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
    if (!__any_sync(~0u, rescale[0] != 1 || rescale[1] != 1))
      return;
#pragma unroll
    for (int i = 0; i < width / 2; ++i)
      out.of[i] *= rescale[i / 2 % 2];
  }

  /// out += weights values.
  __device__ __forceinline__ void accumulate(int turn) {
    constexpr int steps = tileKeys / 16;
    uint32_t weights[steps][4];
#pragma unroll
    for (int step = 0; step < steps; ++step)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        weights[step][i] =
            pack(scores.of[8 * step + 2 * i], scores.of[8 * step + 2 * i + 1]);
    out.pin();
    WideSums::begin();
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      const OperandTile<true> right(tileOf(PagedSide::values, turn) +
                                    step / 4 * boxes * (rowsOfBox * rowBytes));
      out.addAcross(weights[step], right.at(step % 4));
    }
    WideSums::commit();
    WideSums::wait<0>();
    out.pin();
  }

  /// This lane's row of a half of its warp's 16, in the block.
  __device__ int rowOf(int half) const {
    return int(threadIdx.x) / 32 * 16 + half * 8 + lane / 4;
  }

  __device__ __forceinline__ void store() const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float factor = 1.0f / sumOfRow(sum[half]);
      const int row = rowOf(half);
      if (row >= seen.own.count)
        continue;
      Bf16* const to = seen.data.out + seen.queryAt(row);
#pragma unroll
      for (int n = 0; n < width / 8; ++n)
        storePair(to, n * 8 + lane % 4 * 2, seen.step.shape.width, true,
                  out.of[4 * n + 2 * half] * factor,
                  out.of[4 * n + 2 * half + 1] * factor);
    }
  }

  const PagedRun<tileKeys, P> seen;
  const ScoreRule rule;
  char* const queries; // then the tiles, rows in 8 bits, slots
  const int group, lane, copyRow, copyChunkOfRow;
  float scales[2][rows]; // of this thread's rows of the copy in flight
  WarpgroupSums<tileKeys> scores;
  WarpgroupSums<width> out;
  float maximum[2] = {nothingSeenYet, nothingSeenYet};
  float sum[2] = {}; // over this lane's columns
};

/// Block (head, tile), as of attendTiles.
template <int width, class P>
__global__ __launch_bounds__(256) void attendByWarpgroups(
    const __grid_constant__ PagedStep step,
    const __grid_constant__ PagedTileData<P> data,
    const __grid_constant__ PagedDivision division) {
  extern __shared__ __align__(128) char shared[];
#ifdef __CUDA_ARCH_FEAT_SM90_ALL // others have no such instructions
  const int tile = division.counts[0] - 1 - int(blockIdx.y);
  if (tile >= 0)
    PagedWarpgroupBlock<width, P>(step, data, division.tiles[tile],
                                  int(blockIdx.x), shared)
        .run();
#endif
}

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_PAGEDWARPGROUPS_CUH
