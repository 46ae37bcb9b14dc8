// Which tokens see each other, on the GPU: the rules of
// AttentionTiles.h for the CPU.
//
// Tokens are processed in tiles of 64. A first, small kernel finds each tile's
// range of segments and places. From the ranges attention knows which pairs of
// tiles to skip, and which need no mask.

#ifndef RECIPERUN_KERNELS_ATTENTION_ATTENTIONMASK_CUH
#define RECIPERUN_KERNELS_ATTENTION_ATTENTIONMASK_CUH

#include <climits>
#include <cstdint>

namespace reciperun::kernels::cuda {

inline constexpr int tileTokens = 64;

/// The places of the queries that see a key; see AttentionMask in
/// AttentionTiles.h.
struct MaskRule {
  bool causal;
  int64_t window, chunk; // 0: all

  __host__ __device__ int first(int key) const {
    if (causal)
      return key;
    return chunk ? int(key / chunk * chunk) : INT_MIN;
  }
  __host__ __device__ int last(int key) const {
    int64_t end = INT_MAX;
    if (window && key + window < end)
      end = key + window;
    if (chunk && (key / chunk + 1) * chunk < end)
      end = (key / chunk + 1) * chunk;
    return int(end);
  }
};

/// The range of a tile's segments and places, both ends inclusive.
struct TokenBounds {
  int lowSegment, highSegment, lowPlace, highPlace;
};

enum class Seen { none, some, all };

/// Classifies a pair of tiles by their ranges.
__device__ inline Seen seenOf(const TokenBounds& queries,
                              const TokenBounds& keys, const MaskRule& rule) {
  if (queries.highSegment < 0 ||
      queries.highPlace < rule.first(keys.lowPlace) ||
      queries.lowPlace >= rule.last(keys.highPlace) ||
      queries.lowSegment > keys.highSegment ||
      keys.lowSegment > queries.highSegment)
    return Seen::none;
  const bool isOneSegment = queries.lowSegment >= 0 &&
                            queries.lowSegment == keys.highSegment &&
                            keys.lowSegment == queries.highSegment;
  const bool isWhole = queries.lowPlace >= rule.first(keys.highPlace) &&
                       queries.highPlace < rule.last(keys.lowPlace);
  return isOneSegment && isWhole ? Seen::all : Seen::some;
}

/// A token as a query and as a key. A missing token counts as padding.
struct QueryToken {
  int segment, place;
};
struct KeyToken {
  int segment, first, last;
};

/// Evaluates all four conditions, which is cheaper than a branch.
__device__ inline bool sees(const QueryToken& query, const KeyToken& key) {
  return bool(int(query.segment == key.segment) & int(key.segment >= 0) &
              int(query.place >= key.first) & int(query.place < key.last));
}

/// The tokens of one side: segments and places i32 [batch, count], and the
/// bounds of their tiles [batch, tiles].
struct TokenSide {
  const int32_t* segments;
  const int32_t* places;
  const TokenBounds* bounds;
  int count;

  __host__ __device__ int tiles() const {
    return (count + tileTokens - 1) / tileTokens;
  }
  /// The tokens of one sequence.
  __device__ TokenSide of(int sequence) const {
    return {segments + int64_t(sequence) * count,
            places + int64_t(sequence) * count,
            bounds + int64_t(sequence) * tiles(), count};
  }
  __device__ QueryToken query(int token) const {
    return token < count ? QueryToken{segments[token], places[token]}
                         : QueryToken{-1, 0};
  }
  __device__ KeyToken key(int token, const MaskRule& rule) const {
    if (token >= count)
      return {-1, 0, 0};
    const int place = places[token];
    return {segments[token], rule.first(place), rule.last(place)};
  }
};

/// The joint bounds of up to `count` consecutive tiles.
__device__ inline TokenBounds boundsOf(const TokenSide& side, int tile,
                                       int count) {
  TokenBounds all = side.bounds[tile];
  for (int i = 1; i < count && tile + i < side.tiles(); ++i) {
    const TokenBounds next = side.bounds[tile + i];
    all.lowSegment = min(all.lowSegment, next.lowSegment);
    all.highSegment = max(all.highSegment, next.highSegment);
    all.lowPlace = min(all.lowPlace, next.lowPlace);
    all.highPlace = max(all.highPlace, next.highPlace);
  }
  return all;
}

/// The first tile from `from` on for which isSeen(tile), or `tiles` when there
/// is none. All lanes of a warp call it with the same arguments.
template <class IsSeen>
__device__ int nextTile(int from, int tiles, IsSeen isSeen) {
  const int lane = int(threadIdx.x) % 32;
  for (int base = from; base < tiles; base += 32) {
    const int tile = base + lane;
    const unsigned votes = __ballot_sync(~0u, tile < tiles && isSeen(tile));
    if (votes)
      return base + __ffs(int(votes)) - 1;
  }
  return tiles;
}

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_ATTENTIONMASK_CUH
