// The positions that a run of a sequence's tokens sees, in tiles, for the
// kernels that process a prompt's queries together.

#ifndef RECIPERUN_KERNELS_ATTENTION_PAGEDRUN_CUH
#define RECIPERUN_KERNELS_ATTENTION_PAGEDRUN_CUH

#include "runtime/kernels/attention/PagedStep.cuh"

namespace reciperun::kernels::cuda {

/// The operands of the kernels. Keys and values are pages of P or, with
/// `isFresh`, fresh rows.
template <class P, bool isFresh = false> struct PagedTileData {
  using Element = P;
  static constexpr bool readsFresh = isFresh;

  const __nv_bfloat16* q;
  const P *keys, *values;
  __nv_bfloat16* out;
  bool isAligned; // all rows of heads, to 16 bytes, also those of pages
  FreshRows fresh;

  __device__ const P* rows(PagedSide side) const {
    return side == PagedSide::keys ? keys : values;
  }
  /// Rows in bf16: fresh ones if `rows` are in 8 bits.
  __device__ const __nv_bfloat16* wideRows(PagedSide side) const {
    if constexpr (isScaled<P>)
      return fresh.of(side);
    else
      return rows(side);
  }
};

/// The columns [low, high] of a tile of positions that a query sees.
struct SeenColumns {
  int low, high;

  __device__ bool operator()(int column) const {
    return column >= low && column <= high;
  }
};

/// What a block of queries of one head sees, in tiles of `size` positions. Data
/// is a PagedTileData.
template <int size, class Data> struct PagedRun {
  using P = typename Data::Element;

  const PagedStep& step;
  const Data& data;
  const QueryRun own;
  const int head, first, end; // positions [first, end) are seen

  __device__ PagedRun(const PagedStep& step, const Data& data,
                      const QueryRun& run, int head)
      : step(step), data(data), own(run), head(head),
        first(step.firstSeen(run.position)), end(run.position + run.count) {}

  __device__ int tiles() const { return (end - 1) / size + 1; }

  __device__ bool seesAllBefore() const {
    return step.shape.rule.window == 0 && step.shape.rule.chunk == 0;
  }
  __device__ Seen seen(int tile) const {
    return seenOf({0, 0, own.position, end - 1},
                  {0, 0, tile * size, tile * size + size - 1}, step.shape.rule);
  }
  /// Whether each query sees all positions of a tile.
  __device__ bool isWhole(int tile) const {
    if (seesAllBefore())
      return tile * size + size - 1 <= own.position;
    return seen(tile) == Seen::all;
  }
  /// The first tile from `from` on that a query sees. All lanes of a warp call
  /// it.
  __device__ __forceinline__ int next(int from) const {
    if (seesAllBefore())
      return from;
    return nextTile(from, tiles(),
                    [&](int tile) { return seen(tile) != Seen::none; });
  }
  __device__ int firstTile() const { return next(first / size); }
  /// What the query of a row of the block sees of a tile.
  __device__ SeenColumns seenBy(int row, int tile) const {
    const int position = own.position + row, begin = tile * size;
    return {step.firstSeen(position) - begin,
            row < own.count ? position - begin : -1};
  }

  __device__ bool isSeen(int position) const {
    return position >= first && position < end;
  }
  /// The slot of a row of a tile, or the token of a row of the step; none for a
  /// position that no query sees, which may have no page.
  __device__ PagedSlot findSlot(int tile, int row) const {
    if constexpr (Data::readsFresh)
      return findFresh(tile, row);
    const int position = tile * size + row;
    return isSeen(position) ? step.findSlot(own.sequence, position)
                            : PagedSlot::none();
  }
  __device__ int slotOf(int tile, int row) const {
    return findSlot(tile, row).number(step.page);
  }

  /// Whether all rows of a tile that are seen are fresh.
  __device__ bool isFresh(int tile) const {
    return isScaled<P> && data.fresh.areThere() &&
           max(tile * size, first) >= own.position - own.before;
  }
  /// The token of a row of a tile that is fresh.
  __device__ PagedSlot findFresh(int tile, int row) const {
    const int position = tile * size + row;
    return isSeen(position) ? PagedSlot{0, own.token + position - own.position}
                            : PagedSlot::none();
  }

  __device__ int keyHead() const { return head / step.shape.group(); }
  /// The keys or values of the head in the pages' first row.
  __device__ const P* column(PagedSide side) const {
    return data.rows(side) + int64_t(keyHead()) * step.shape.width;
  }
  /// The head's scale of the pages' first row.
  __device__ const float* scales(PagedSide side) const {
    return step.scales(side) + keyHead();
  }
  __device__ float scaleOf(PagedSide side, int slot) const {
    return step.scaleOf(side, slot, keyHead());
  }

  __device__ int64_t queryAt(int row) const {
    return (int64_t(own.token + row) * step.shape.heads + head) *
           step.shape.width;
  }
};

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_PAGEDRUN_CUH
