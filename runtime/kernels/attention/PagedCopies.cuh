// The copies of attention over pages by warpgroups: the warps that bring a
// sequence's keys and values into shared memory, a tile of positions at a time,
// while other warps compute (PagedWarpgroups.cuh).

#ifndef RECIPERUN_KERNELS_ATTENTION_PAGEDCOPIES_CUH
#define RECIPERUN_KERNELS_ATTENTION_PAGEDCOPIES_CUH

#include "runtime/kernels/attention/PagedRun.cuh"
#include "runtime/kernels/common/MatrixFragments.cuh"
#include "runtime/kernels/common/WarpgroupMatmuls.cuh"

namespace reciperun::kernels::cuda {

/// Shared memory of a block: 128 queries, and two tiles each of keys and
/// values, as the boxes of WarpgroupMatmuls.cuh, rows of 64 elements; for rows
/// in 8 bits also two tiles of either as they are in the pages.
template <int width, class P> struct PagedTilesInShared {
  static constexpr int tileKeys = 128, blockQueries = 128;
  static constexpr int boxes = width / 64;
  static constexpr int rowBytes = 128, rowsOfBox = 64; // of queries and values
  static constexpr int tileBytes = tileKeys * width * 2;
  static constexpr int queryBytes = blockQueries * width * 2;
  static constexpr int storedBytes = isScaled<P> ? tileKeys * width : 0;
  /// With room to align the boxes.
  static constexpr int bytes =
      queryBytes + 4 * (tileBytes + storedBytes) + 1024;

  char* const queries;

  __device__ explicit PagedTilesInShared(char* shared)
      : queries(shared + (-__cvta_generic_to_shared(shared) & 1023)) {}

  /// The offset of a 16-byte chunk of a row in a box, swizzled.
  __device__ static int chunkInBox(int row, int chunk) {
    return row * rowBytes + (chunk ^ (row & 7)) * 16;
  }
  /// The offset of a box, for a row that is a multiple of 16: keys are in boxes
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

  /// The tile of a side, `turn` even or odd.
  __device__ char* tile(PagedSide side, int turn) const {
    return queries + queryBytes + (turn % 2 * 2 + int(side)) * tileBytes;
  }
  /// Its rows as they are in the pages, [positions, width].
  __device__ char* stored(PagedSide side, int turn) const {
    return queries + queryBytes + 4 * tileBytes +
           (turn % 2 * 2 + int(side)) * storedBytes;
  }
};

/// When a tile has been copied, and when it has been read. Tile n of a side is
/// phase n / 2 of the barriers of turn n % 2.
struct PagedTileBarriers {
  ClusterBarrier ready[2][2], isFree[2][2]; // [side][turn % 2]

  /// `copying` and `reading` warps arrive.
  __device__ void open(int copying, int reading) {
    for (int side = 0; side < 2; ++side)
      for (int turn = 0; turn < 2; ++turn) {
        ready[side][turn].open(uint32_t(copying));
        isFree[side][turn].open(uint32_t(reading));
      }
  }
  __device__ void waitUntilReady(PagedSide side, int tile) {
    ready[int(side)][tile % 2].wait(uint32_t(tile / 2));
  }
  /// Waits until the tile two before has been read. There is none at first.
  __device__ void waitUntilFree(PagedSide side, int tile) {
    isFree[int(side)][tile % 2].wait(uint32_t(tile / 2 + 1));
  }
  /// A warp has copied its part of a tile.
  __device__ void markReady(PagedSide side, int tile) {
    ptx::fence_proxy_async(ptx::space_shared); // for the matmuls
    arrive(ready[int(side)][tile % 2]);
  }
  /// A warp has read a tile.
  __device__ void markFree(PagedSide side, int tile) {
    arrive(isFree[int(side)][tile % 2]);
  }

private:
  __device__ static void arrive(ClusterBarrier& barrier) {
    __syncwarp();
    if (threadIdx.x % 32 == 0)
      ptx::mbarrier_arrive(&barrier.word);
  }
};

/// The work of a launch: each head of each tile of queries, those with the most
/// positions first. A block takes every gridDim.x-th item.
template <class P> struct PagedItems {
  const PagedStep& step;
  const PagedTileData<P>& data;
  const PagedDivision& division;
  const int count;

  __device__ PagedItems(const PagedStep& step, const PagedTileData<P>& data,
                        const PagedDivision& division)
      : step(step), data(data), division(division),
        count(division.counts[0] * step.shape.heads) {}

  __device__ int headOf(int item) const { return item % step.shape.heads; }
  __device__ QueryRun runOf(int item) const {
    return division.tiles[division.counts[0] - 1 - item / step.shape.heads];
  }
};

/// The work of the copying warps, a warpgroup: the tiles of all items of the
/// block, numbered through. Eight threads copy a row; a thread copies the rows
/// `row` + 16 i, in which its chunks have one place in the boxes.
template <int width, class P> class PagedCopier {
  using Shared = PagedTilesInShared<width, P>;
  using Run = PagedRun<Shared::tileKeys, P>;
  static constexpr int rowsAtOnce = 16, rows = Shared::tileKeys / rowsAtOnce;

public:
  /// `thread` is that of the warpgroup.
  __device__ PagedCopier(const PagedItems<P>& items, const Shared& shared,
                         PagedTileBarriers& barriers, int thread)
      : items(items), shared(shared), barriers(barriers), lane(thread % 32),
        row(thread / 8), chunk(thread % 8), item(int(blockIdx.x)) {
    beginItem();
    next = findSource();
    advance();
  }

  __device__ void run() {
    if constexpr (isScaled<P>)
      copyAndWiden();
    else
      copy();
  }

private:
  /// A tile to copy.
  struct Source {
    bool isThere;
    int keyHead;
    /// That of one of the 32 rows that the lanes of a warp copy: row
    /// `row` + 16 i is that of lane 4 i + lane / 8. -1 for a row that no query
    /// sees.
    int slot;
  };

  __device__ __forceinline__ void copy() {
    int number = 0;
    for (; now.isThere; ++number) {
      startCopy(PagedSide::keys, number);
      waitForCopies<1>(); // the values of the tile before
      if (number)
        barriers.markReady(PagedSide::values, number - 1);
      startCopy(PagedSide::values, number);
      waitForCopies<1>();
      barriers.markReady(PagedSide::keys, number);
      advance();
    }
    waitForCopies<0>();
    if (number)
      barriers.markReady(PagedSide::values, number - 1);
  }

  /// Widens the rows of a tile while those of the next one are copied.
  __device__ __forceinline__ void copyAndWiden() {
    startCopy(PagedSide::keys, 0);
    startCopy(PagedSide::values, 0);
    for (int number = 0; now.isThere; ++number) {
      advance();
#pragma unroll
      for (const PagedSide side : {PagedSide::keys, PagedSide::values}) {
        const float scale = scales[int(side)];
        startCopy(side, number + 1);
        waitForCopies<2>();
        barriers.waitUntilFree(side, number);
        widen(side, number, scale);
        barriers.markReady(side, number);
      }
    }
    waitForCopies<0>();
  }

  // ---- the tiles in order

  __device__ __forceinline__ Run seen() const {
    return Run(items.step, items.data, queries, items.headOf(item));
  }

  __device__ __forceinline__ void beginItem() {
    if (item >= items.count)
      return;
    queries = items.runOf(item);
    tile = seen().firstTile();
  }

  /// Looks up the slots of the tile, a tile ahead of their use.
  __device__ __forceinline__ Source findSource() const {
    if (item >= items.count)
      return {false, 0, -1};
    const int own = row / 4 * 4 + lane % 4 + lane / 4 * rowsAtOnce;
    return {true, seen().keyHead(), seen().slotOf(tile, own)};
  }

  __device__ __forceinline__ void advance() {
    now = next;
    if (item < items.count) {
      tile = seen().next(tile + 1);
      if (tile >= seen().tiles()) {
        item += int(gridDim.x);
        beginItem();
      }
    }
    next = findSource();
  }

  // ---- copies

  /// Starts to copy a side of the tile, if there is one. Rows without a slot
  /// become zeros.
  __device__ __forceinline__ void startCopy(PagedSide side, int number) {
    if (now.isThere) {
      if constexpr (isScaled<P>)
        scales[int(side)] = items.step.scaleOf(side, now.slot, now.keyHead);
      else
        barriers.waitUntilFree(side, number);
      copyRows(side, number);
    }
    commitCopies();
  }

  __device__ __forceinline__ void copyRows(PagedSide side, int number) const {
    constexpr int n = 16 / int(sizeof(P)), chunks = width / n;
    const P* const column = items.data.pages(side) +
                            int64_t(now.keyHead) * items.step.shape.width +
                            chunk * n;
    char* const to =
        isScaled<P>
            ? shared.stored(side, number) + row * width + chunk * 16
            : shared.tile(side, number) + Shared::chunkInBox(row, chunk);
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const int from = __shfl_sync(~0u, now.slot, 4 * i + lane / 8);
      const P* const start =
          column + int64_t(max(from, 0)) * items.step.keyRow();
#pragma unroll
      for (int piece = 0; piece < (chunks + 7) / 8; ++piece) {
        const int at = (piece * 8 + chunk) * n;
        if (chunks % 8 != 0 && at >= width)
          continue;
        copyAsync<16>(
            uint32_t(__cvta_generic_to_shared(
                to +
                (isScaled<P> ? i * rowsAtOnce * width + piece * 128
                             : Shared::boxOf(side, i * rowsAtOnce, piece)))),
            start + piece * 8 * n, from >= 0 && at < items.step.shape.width);
      }
    }
  }

  /// Writes a side's rows, which this thread has copied, times their scales.
  /// `scale` is that of this lane's row.
  __device__ __forceinline__ void widen(PagedSide side, int number,
                                        float scale) const {
    constexpr int chunks = width / 16, pieces = (chunks + 7) / 8;
    constexpr int atOnce = 4; // loads in flight
    const char* const from =
        shared.stored(side, number) + row * width + chunk * 16;
    char* const to = shared.tile(side, number);
    float scales[rows];
#pragma unroll
    for (int i = 0; i < rows; ++i)
      scales[i] = __shfl_sync(~0u, scale, 4 * i + lane / 8);
#pragma unroll
    for (int piece = 0; piece < pieces; ++piece) {
      const int at = piece * 8 + chunk;
      if (chunks % 8 != 0 && at >= chunks)
        continue;
#pragma unroll
      for (int i = 0; i < rows; i += atOnce) {
        PageWords words[atOnce];
#pragma unroll
        for (int j = 0; j < atOnce; ++j)
          words[j] = PageWords::load(reinterpret_cast<const uint32_t*>(
              from + (i + j) * rowsAtOnce * width + piece * 128));
#pragma unroll
        for (int j = 0; j < atOnce; ++j) {
          char* const box =
              to + Shared::boxOf(side, (i + j) * rowsAtOnce, at / 4);
#pragma unroll
          for (int half = 0; half < 2; ++half)
            widenHalf<P>(words[j], half, scales[i + j],
                         reinterpret_cast<Bf16*>(
                             box + Shared::chunkInBox(row, at % 4 * 2 + half)));
        }
      }
    }
  }

  const PagedItems<P>& items;
  const Shared& shared;
  PagedTileBarriers& barriers;
  const int lane, row, chunk;
  int item, tile; // that `next` is of
  QueryRun queries;
  Source now, next;
  float scales[2]; // of this lane's row, of the copies in flight
};

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_PAGEDCOPIES_CUH
