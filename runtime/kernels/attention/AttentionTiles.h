// The parts of tiled attention: the problem's sizes, and which tiles of queries
// and keys see each other.

#ifndef RECIPERUN_KERNELS_ATTENTION_ATTENTIONTILES_H
#define RECIPERUN_KERNELS_ATTENTION_ATTENTIONTILES_H

#include "runtime/device/Tensor.h"
#include "runtime/device/cpu/TileMatmul.h"
#include "runtime/kernels/common/Types.h"
#include "runtime/ops/AttentionOps.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace reciperun::kernels {

/// Queries and keys in a tile. 64 rows of 64 to 128 elements fit an L2 cache
/// several times over, and 64 is a multiple of the vector length of either
/// type.
inline constexpr int64_t tileQueries = 64;
inline constexpr int64_t tileKeys = 64;

/// The tokens of one side, queries or keys, of one sequence: the document of
/// each (negative: padding) and its place in the whole row. A side may be any
/// part of the row in any order.
struct Tokens {
  const int32_t* segments;
  const int32_t* places;
};

/// The tokens of a sequence whose first token has index `first` in the tensors.
inline Tokens tokensOf(const device::Tensor& segments,
                       const device::Tensor& places, int64_t first) {
  return {segments.as<int32_t>() + first, places.as<int32_t>() + first};
}

/// The queries of an attention: q T [b, queries, heads, d], segments and places
/// i32 [b, queries].
struct AttentionQueries {
  device::Tensor q, segments, places;
};

/// The keys and values that they attend to: k, v T [b, keys, keyHeads, d],
/// segments and places i32 [b, keys].
struct AttentionKeys {
  device::Tensor k, v, segments, places;
};

/// Which tokens of its document a token sees, by their places: if causal,
/// only itself and earlier ones, only the last `window`, only those of its own
/// `chunk`. With a window or chunk, places count from a document's first token.
struct AttentionMask {
  bool causal;
  int64_t window, chunk; // 0: all

  explicit AttentionMask(const ops::AttentionAttributes& attributes)
      : causal(attributes.causal), window(attributes.window),
        chunk(attributes.chunk) {}

  /// The places of the queries that see a key: [first, last). Neither decreases
  /// as the key's place rises.
  int32_t first(int32_t key) const {
    if (causal)
      return key;
    return chunk ? int32_t(key / chunk * chunk) : anyPlace::min();
  }
  int32_t last(int32_t key) const {
    int64_t end = anyPlace::max();
    if (window)
      end = std::min(end, key + window);
    if (chunk)
      end = std::min(end, (key / chunk + 1) * chunk);
    return int32_t(end);
  }

private:
  using anyPlace = std::numeric_limits<int32_t>;
};

/// The sizes of an attention, from its operands' shapes.
struct AttentionSizes {
  int64_t batch, queries, keys, heads, keyHeads, width;
  double scale;
  double softcap; // 0: no softcap
  AttentionMask mask;

  AttentionSizes(const plan::Op& op, const device::Tensor& q,
                 const device::Tensor& k)
      : AttentionSizes(ops::AttentionAttributes(op.attributes), q, k) {}
  AttentionSizes(const ops::AttentionAttributes& attributes,
                 const device::Tensor& q, const device::Tensor& k)
      : batch(q.shape[0]), queries(q.shape[1]), keys(k.shape[1]),
        heads(q.shape[2]), keyHeads(k.shape[2]), width(q.shape[3]),
        scale(attributes.scale), softcap(attributes.softcap), mask(attributes) {
    if (scale == 0)
      scale = 1 / std::sqrt(double(width));
  }

  /// The number of query heads that share a key head.
  int64_t group() const { return heads / keyHeads; }
  int64_t queryTiles() const {
    return (queries + tileQueries - 1) / tileQueries;
  }
  int64_t keyTiles() const { return (keys + tileKeys - 1) / tileKeys; }
  /// The width padded to a multiple of M's vector length.
  template <class M> int64_t paddedWidth() const {
    return (width + device::lanes<M> - 1) / device::lanes<M> * device::lanes<M>;
  }
};

/// The first row and the number of rows of a tile.
struct TileRange {
  int64_t begin, count;
  int64_t end() const { return begin + count; }
};
inline TileRange tileRange(int64_t tile, int64_t size, int64_t tokens) {
  return {tile * size, std::min(size, tokens - tile * size)};
}

enum class Visible { none, some, all };

/// Which keys a tile of queries sees: those of a query's own segment that the
/// mask allows. A negative segment is padding, which sees nothing and is not
/// seen.
class Visibility {
public:
  Visibility(Tokens queries, TileRange tile, Tokens keys, AttentionMask mask)
      : queries{queries.segments + tile.begin, queries.places + tile.begin},
        count(tile.count), keys(keys), mask(mask),
        own(boundsOf(queries, tile)) {}

  /// Classifies a tile by its ranges of segments and places, which is cheap.
  Visible of(TileRange tile) const {
    if (own.highSegment < 0)
      return Visible::none;
    const Bounds other = boundsOf(keys, tile);
    if (own.highPlace < mask.first(other.lowPlace) ||
        own.lowPlace >= mask.last(other.highPlace))
      return Visible::none;
    if (own.lowSegment > other.highSegment ||
        other.lowSegment > own.highSegment)
      return Visible::none;
    const bool oneSegment = own.lowSegment >= 0 &&
                            own.lowSegment == other.highSegment &&
                            other.lowSegment == own.highSegment;
    const bool isWhole = own.lowPlace >= mask.first(other.highPlace) &&
                         own.highPlace < mask.last(other.lowPlace);
    return oneSegment && isWhole ? Visible::all : Visible::some;
  }

  /// Writes `hidden` where key (row of `scores`) and query (column) do not see
  /// each other. `scores` is [tile.count, tileQueries].
  template <class M> void hide(TileRange tile, M hidden, M* scores) const {
    for (int64_t k = 0; k < tile.count; ++k) {
      const int32_t segment = keys.segments[tile.begin + k];
      const int32_t place = keys.places[tile.begin + k];
      const int32_t first = mask.first(place), last = mask.last(place);
      M* row = scores + k * tileQueries;
      if (segment < 0) {
        std::fill_n(row, count, hidden);
        continue;
      }
#pragma omp simd
      for (int64_t q = 0; q < count; ++q) {
        const bool isSeen = (queries.segments[q] == segment) &
                            (queries.places[q] >= first) &
                            (queries.places[q] < last);
        row[q] = isSeen ? row[q] : hidden;
      }
    }
  }

private:
  struct Bounds {
    int32_t lowSegment, highSegment, lowPlace, highPlace;
  };
  static Bounds boundsOf(Tokens tokens, TileRange tile) {
    const int32_t* segments = tokens.segments + tile.begin;
    const int32_t* places = tokens.places + tile.begin;
    int32_t lowSegment = segments[0], highSegment = segments[0],
            lowPlace = places[0], highPlace = places[0];
#pragma omp simd reduction(min                                                 \
                           : lowSegment, lowPlace)                             \
    reduction(max                                                              \
              : highSegment, highPlace)
    for (int64_t i = 0; i < tile.count; ++i) {
      lowSegment = std::min(lowSegment, segments[i]);
      highSegment = std::max(highSegment, segments[i]);
      lowPlace = std::min(lowPlace, places[i]);
      highPlace = std::max(highPlace, places[i]);
    }
    return {lowSegment, highSegment, lowPlace, highPlace};
  }

  Tokens queries; // of the tile
  int64_t count;
  Tokens keys;
  AttentionMask mask;
  Bounds own;
};

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_ATTENTION_ATTENTIONTILES_H
