// What attention over tiles is made of: the problem's sizes and which tiles of
// queries and keys see one another.

#ifndef RECIPERUN_KERNELS_ATTENTIONTILES_H
#define RECIPERUN_KERNELS_ATTENTIONTILES_H

#include "runtime/device/cpu/TileProduct.h"
#include "runtime/kernels/Types.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace reciperun::kernels {

/// Queries and keys in a tile: 64 rows of 64 to 128 elements fit a second-level
/// cache several times over, and 64 are whole vectors of either type.
inline constexpr int64_t tileQueries = 64;
inline constexpr int64_t tileKeys = 64;

/// Sizes of an attention, from its operands' shapes.
struct AttentionSizes {
  int64_t batch, sequence, heads, keyHeads, width;
  double scale;
  bool causal;

  AttentionSizes(const plan::Op& op, const device::Tensor& q,
                 const device::Tensor& k)
      : batch(q.shape[0]), sequence(q.shape[1]), heads(q.shape[2]),
        keyHeads(k.shape[2]), width(q.shape[3]), scale(op.real("scale")),
        causal(op.flag("causal", true)) {
    if (scale == 0)
      scale = 1 / std::sqrt(double(width));
  }

  /// Query heads that share a key head.
  int64_t group() const { return heads / keyHeads; }
  int64_t queryTiles() const {
    return (sequence + tileQueries - 1) / tileQueries;
  }
  int64_t keyTiles() const { return (sequence + tileKeys - 1) / tileKeys; }
  /// The width padded to whole vectors of M.
  template <class M> int64_t paddedWidth() const {
    return (width + device::lanes<M> - 1) / device::lanes<M> * device::lanes<M>;
  }
};

/// The first row and the number of rows of a tile.
struct TileRange {
  int64_t begin, count;
  int64_t end() const { return begin + count; }
};
inline TileRange tileRange(int64_t tile, int64_t size, int64_t sequence) {
  return {tile * size, std::min(size, sequence - tile * size)};
}

enum class Visible { none, some, all };

/// Which keys a query of one sequence sees: those of its own segment, at or
/// before it where attention is causal. A negative segment is padding, which
/// sees nothing and is not seen.
class Visibility {
public:
  Visibility(const int32_t* segments, bool causal)
      : segments(segments), causal(causal) {}

  bool isPadding(int64_t query) const { return segments[query] < 0; }

  Visible between(TileRange queries, TileRange keys) const {
    if (causal && keys.begin >= queries.end())
      return Visible::none;
    const auto [lowQuery, highQuery] = bounds(queries);
    const auto [lowKey, highKey] = bounds(keys);
    if (lowQuery > highKey || lowKey > highQuery || highQuery < 0)
      return Visible::none;
    const bool oneSegment =
        lowQuery >= 0 && lowQuery == highKey && lowKey == highQuery;
    const bool allBefore = !causal || keys.end() - 1 <= queries.begin;
    return oneSegment && allBefore ? Visible::all : Visible::some;
  }

  /// Puts `hidden` where key (row of the tile) and query (column) do not see
  /// one another. `tile` is [keys.count, tileQueries].
  template <class M>
  void hide(TileRange queries, TileRange keys, M hidden, M* tile) const {
    for (int64_t k = 0; k < keys.count; ++k) {
      const int64_t key = keys.begin + k;
      const int32_t segment = segments[key];
      const int64_t firstQuery = causal ? key - queries.begin : 0;
      M* row = tile + k * tileQueries;
      const int32_t* own = segments + queries.begin;
      for (int64_t q = 0; q < queries.count; ++q)
        if (own[q] != segment || segment < 0 || q < firstQuery)
          row[q] = hidden;
    }
  }

private:
  struct Bounds {
    int32_t low, high;
  };
  Bounds bounds(TileRange range) const {
    const auto [low, high] =
        std::minmax_element(segments + range.begin, segments + range.end());
    return {*low, *high};
  }

  const int32_t* segments;
  bool causal;
};

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_ATTENTIONTILES_H
