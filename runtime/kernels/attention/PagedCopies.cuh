// The copying half of attention over pages by warpgroups: warps that copy a
// sequence's keys and values into shared memory, a tile of positions at a time,
// while other warps compute (PagedWarpgroups.cuh).

#ifndef RECIPERUN_KERNELS_ATTENTION_PAGEDCOPIES_CUH
#define RECIPERUN_KERNELS_ATTENTION_PAGEDCOPIES_CUH

#include "runtime/kernels/attention/PagedRun.cuh"
#include "runtime/kernels/common/MatrixFragments.cuh"
#include "runtime/kernels/common/WarpgroupMatmuls.cuh"

namespace reciperun::kernels::cuda {

/// Shared memory of a block: 128 queries and two buffers each for a tile of
/// keys and a tile of values, in the boxes of WarpgroupMatmuls.cuh with rows of
/// 64 elements. For pages in 8 bits also two buffers for each tile before it is
/// widened.
template <int width, class P> struct PagedTilesInShared {
  static constexpr int tileKeys = 128, blockQueries = 128;
  static constexpr int boxes = width / 64;
  static constexpr int rowBytes = 128, rowsOfBox = 64; // of queries and values
  static constexpr int tileBytes = tileKeys * width * 2;
  static constexpr int queryBytes = blockQueries * width * 2;
  static constexpr int storedBytes = isScaled<P> ? tileKeys * width : 0;
  /// Includes space to align the boxes.
  static constexpr int bytes =
      queryBytes + 4 * (tileBytes + storedBytes) + 1024;

  char* const queries;

  __device__ explicit PagedTilesInShared(char* shared)
      : queries(shared + (-__cvta_generic_to_shared(shared) & 1023)) {}

  /// The offset of a 16-byte chunk of a row in a box, swizzled.
  __device__ static int chunkInBox(int row, int chunk) {
    return row * rowBytes + (chunk ^ (row & 7)) * 16;
  }
  /// The offset of a box, for a row that is a multiple of 16. A box of keys has
  /// all rows of the tile; a box of values or queries has 64 rows.
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

  /// The buffer of the keys or values of tile number `turn`. Tiles alternate
  /// between two buffers.
  __device__ char* tile(PagedSide side, int turn) const {
    return queries + queryBytes + (turn % 2 * 2 + int(side)) * tileBytes;
  }
  /// The buffer for the same tile in 8 bits as stored in the pages, [positions,
  /// width].
  __device__ char* stored(PagedSide side, int turn) const {
    return queries + queryBytes + 4 * tileBytes +
           (turn % 2 * 2 + int(side)) * storedBytes;
  }
  /// The offset of a byte in a stored row. In odd rows of 128 bytes both halves
  /// are swapped, so that equal halves of two neighbouring rows use different
  /// banks.
  __device__ static int byteInStoredRow(int row, int byte) {
    return width == 128 ? byte ^ (row % 2 * 64) : byte;
  }
};

/// Barriers that complete when a tile has been copied, and when it has been
/// read. Tile n uses the barriers of buffer n % 2, in their phase n / 2.
struct PagedTileBarriers {
  ClusterBarrier ready[2][2], isFree[2][2]; // [side][turn % 2]

  /// Initializes the barriers for `copying` warps that copy and `reading` warps
  /// that read.
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
  /// Waits until tile `tile` - 2, which used the same buffer, has been read.
  /// Returns at once for the first two tiles.
  __device__ void waitUntilFree(PagedSide side, int tile) {
    isFree[int(side)][tile % 2].wait(uint32_t(tile / 2 + 1));
  }
  /// Called by each copying warp when its part of a tile is copied.
  __device__ void markReady(PagedSide side, int tile) {
    ptx::fence_proxy_async(ptx::space_shared); // for the matmuls
    arrive(ready[int(side)][tile % 2]);
  }
  /// Called by each reading warp when it has read a tile.
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

/// The work items of some blocks: one for each head of each tile of queries.
/// They begin with the last tiles, because later tiles of a run see more
/// positions. A block takes every `blocks`-th item, starting with `first`.
template <class Data> struct PagedItems {
  const PagedStep& step;
  const Data& data;
  const QueryRun* const tiles;
  const int tileCount, first, blocks;

  __device__ PagedItems(const PagedStep& step, const Data& data,
                        const PagedDivision& division, int first, int blocks)
      : step(step), data(data), tiles(division.list(Data::readsFresh)),
        tileCount(division.counts[Data::readsFresh]), first(first),
        blocks(blocks) {}

  __device__ int count() const { return tileCount * step.shape.heads; }
  __device__ int headOf(int item) const { return item % step.shape.heads; }
  __device__ QueryRun runOf(int item) const {
    return tiles[tileCount - 1 - item / step.shape.heads];
  }
};

/// The work of the copying warpgroup: the tiles of all items of the block,
/// numbered consecutively. Eight threads copy a row. A thread copies the rows
/// `row` + 16 i; its chunks have the same offset in the boxes in all of these
/// rows.
///
/// Tiles in bf16 (all tiles of rows in bf16, and fresh ones) are copied
/// directly into their boxes. Other tiles are first copied as stored in the
/// pages and then widened.
template <int width, class Data> class PagedCopier {
  using P = typename Data::Element;
  using Shared = PagedTilesInShared<width, P>;
  using Run = PagedRun<Shared::tileKeys, Data>;
  static constexpr int rowsAtOnce = 16, rows = Shared::tileKeys / rowsAtOnce;
  static constexpr PagedSide keys = PagedSide::keys, values = PagedSide::values;

public:
  /// `thread` is the thread's index in the warpgroup.
  __device__ PagedCopier(const PagedItems<Data>& items, const Shared& shared,
                         PagedTileBarriers& barriers, int thread)
      : items(items), shared(shared), barriers(barriers), lane(thread % 32),
        row(thread / 8), chunk(thread % 8),
        rowElements(int(items.step.keyRow())), item(items.first) {
    following = runOf(item);
    beginItem();
    next = findSource();
    advance();
  }

  __device__ void run() {
    while (isThere) {
      if constexpr (isScaled<P>) {
        if (isFresh)
          copyTile();
        else
          widenTiles();
      } else {
        copyTile();
      }
    }
    endCopies();
  }

private:
  /// A tile to copy.
  struct Source {
    bool isThere, isFresh;
    int keyHead;
    /// The slot of one of the 32 rows that the warp copies. Lane 4 i + lane / 8
    /// holds the slot of this thread's row `row` + 16 i.
    PagedSlot slot;
  };

  /// Copies a tile in bf16. Its values arrive while the next tile is copied.
  __device__ __forceinline__ void copyTile() {
    startCopy<keys>();
    waitForCopies<1>();
    if (isCopying)
      barriers.markReady(values, number - 1);
    startCopy<values>();
    waitForCopies<1>();
    barriers.markReady(keys, number);
    isCopying = true;
    ++number;
    advance();
  }

  __device__ __forceinline__ void endCopies() {
    waitForCopies<0>();
    if (isCopying)
      barriers.markReady(values, number - 1);
    isCopying = false;
  }

  /// Copies and widens tiles until the next one is fresh. A tile is widened
  /// while the next one is copied.
  __device__ __forceinline__ void widenTiles() {
    endCopies();
    startStored(number);
    commitCopies();
    do {
      const float keyScale = scales[0], valueScale = scales[1];
      advance();
      if (isThere && !isFresh)
        startStored(number + 1);
      commitCopies();
      waitForCopies<1>();
      __syncwarp(); // lanes read what other lanes have copied
      widen<keys>(keyScale);
      widen<values>(valueScale);
      ++number;
    } while (isThere && !isFresh);
  }

  // ---- the tiles in order

  __device__ __forceinline__ QueryRun runOf(int item) const {
    return item < items.count() ? items.runOf(item) : QueryRun{};
  }
  __device__ __forceinline__ Run seen() const {
    return Run(items.step, items.data, queries, items.headOf(item));
  }

  /// Starts with the tiles of `item`, and already loads the run of the item
  /// after it.
  __device__ __forceinline__ void beginItem() {
    if (item >= items.count())
      return;
    queries = following;
    following = runOf(item + items.blocks);
    tile = seen().firstTile();
    tiles = seen().tiles();
    itemKeyHead = seen().keyHead();
  }

  /// Looks up the slots of the current tile, one tile ahead of their use.
  __device__ __forceinline__ Source findSource() const {
    if (item >= items.count())
      return {false, false, 0, PagedSlot::none()};
    const int own = row / 4 * 4 + lane % 4 + lane / 4 * rowsAtOnce;
    const Run seen = this->seen();
    if (seen.isFresh(tile))
      return {true, true, itemKeyHead, seen.findFresh(tile, own)};
    return {true, false, itemKeyHead, seen.findSlot(tile, own)};
  }

  __device__ __forceinline__ void advance() {
    isThere = next.isThere;
    isFresh = next.isFresh;
    keyHead = next.keyHead;
    slot = next.slot.number(items.step.page);
    if (item < items.count()) {
      tile = seen().next(tile + 1);
      if (tile >= tiles) {
        item += items.blocks;
        beginItem();
      }
    }
    next = findSource();
  }

  // ---- copies

  /// The slot of a row of this thread, or -1.
  __device__ __forceinline__ int slotOf(int i) const {
    return __shfl_sync(~0u, slot, 4 * i + lane / 8);
  }
  /// The index in the pages of the first element of this thread's head in a
  /// slot's row.
  __device__ __forceinline__ int64_t elementOf(int slot) const {
    return int64_t(max(slot, 0)) * rowElements +
           keyHead * items.step.shape.width;
  }

  /// Waits until the boxes of the tile's keys or values are free, then starts
  /// to copy into them. Rows without a slot become zeros.
  template <PagedSide side> __device__ __forceinline__ void startCopy() {
    barriers.waitUntilFree(side, number);
    const Bf16* const rows = items.data.wideRows(side);
    char* const to = shared.tile(side, number) + Shared::chunkInBox(row, chunk);
#pragma unroll
    for (int i = 0; i < this->rows; ++i) {
      const int from = slotOf(i);
      const Bf16* const start = rows + elementOf(from) + chunk * chunkSize;
#pragma unroll
      for (int box = 0; box < Shared::boxes; ++box)
        copyAsync<16>(uint32_t(__cvta_generic_to_shared(
                          to + Shared::boxOf(side, i * rowsAtOnce, box))),
                      start + box * 64,
                      from >= 0 && (box * 8 + chunk) * chunkSize <
                                       items.step.shape.width);
    }
    commitCopies();
  }

  /// Starts to copy the keys and values of a tile as stored in the pages, into
  /// the buffers of tile `number`.
  __device__ __forceinline__ void startStored(int number) {
    scales[0] = items.step.scaleOf(keys, slot, keyHead);
    scales[1] = items.step.scaleOf(values, slot, keyHead);
    const int column = chunk * 16;
    const int to = row * width + Shared::byteInStoredRow(row, column);
    const bool isInside = column < min(width, items.step.shape.width);
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const int from = slotOf(i);
      const int64_t start = elementOf(from) + column;
#pragma unroll
      for (int side = 0; side < 2; ++side)
        if (column < width)
          copyAsync<16>(uint32_t(__cvta_generic_to_shared(
                            shared.stored(PagedSide(side), number) + to +
                            i * rowsAtOnce * width)),
                        items.data.rows(PagedSide(side)) + start,
                        from >= 0 && isInside);
    }
  }

  /// Dequantizes the rows of the tile that this warp has copied into the tile's
  /// boxes, once these are free. `scale` is the scale of the row whose slot
  /// this lane holds.
  template <PagedSide side> __device__ __forceinline__ void widen(float scale) {
    constexpr int atOnce = 4; // loads in flight
    static_assert(width <= 128, "a thread copies one chunk of a row");
    barriers.waitUntilFree(side, number);
    const char* const from = shared.stored(side, number) + row * width;
    char* const to = shared.tile(side, number) + Shared::chunkInBox(row, chunk);
    float scales[rows];
#pragma unroll
    for (int i = 0; i < rows; ++i)
      scales[i] = __shfl_sync(~0u, scale, 4 * i + lane / 8);
#pragma unroll
    for (int box = 0; box < Shared::boxes; ++box) {
      const char* const own =
          from + Shared::byteInStoredRow(row, box * 64 + chunk * 8);
#pragma unroll
      for (int i = 0; i < rows; i += atOnce) {
        Vector<uint32_t, 2> words[atOnce];
#pragma unroll
        for (int j = 0; j < atOnce; ++j)
          words[j] =
              Vector<uint32_t, 2>::load(reinterpret_cast<const uint32_t*>(
                  own + (i + j) * rowsAtOnce * width));
#pragma unroll
        for (int j = 0; j < atOnce; ++j)
          widenWords<P>(
              words[j].elements, scales[i + j],
              reinterpret_cast<Bf16*>(
                  to + Shared::boxOf(side, (i + j) * rowsAtOnce, box)));
      }
    }
    barriers.markReady(side, number);
  }

  const PagedItems<Data>& items;
  const Shared& shared;
  PagedTileBarriers& barriers;
  const int lane, row, chunk, rowElements;
  // The item and tile of `next`.
  int item, tile, tiles, itemKeyHead;
  QueryRun queries, following;
  Source next;
  // The tile to copy now.
  bool isThere, isFresh;
  int keyHead, slot;
  int number = 0;
  bool isCopying = false; // the values of the previous tile
  float scales[2];        // of keys and values, for this lane's slot
};

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_PAGEDCOPIES_CUH
