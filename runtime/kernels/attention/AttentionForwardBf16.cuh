// Attention in bf16 on tensor cores (Dao 2023, "FlashAttention-2", algorithm
// 1).
//
// A thread block of four warps processes a tile of 64 `strips` queries of one
// head. Each warp has `strips` strips of 16 queries, with accumulators in
// registers:
//   1. copy the queries and the first tile of 64 keys into shared memory;
//   2. while the values of that tile are copied: scores = queries keys^T,
//      masked unless the ranges of the tiles show that everything is visible;
//   3. while the next keys are copied: update the softmax; out += weights
//      values;
//   4. out / sum, and lse = maximum + log(sum). If the keys are one of several
//      blocks, merge both with the results of the blocks before.
// Pairs of tiles that do not see each other are skipped (AttentionMask.cuh).

#ifndef RECIPERUN_KERNELS_ATTENTION_ATTENTIONFORWARDBF16_CUH
#define RECIPERUN_KERNELS_ATTENTION_ATTENTIONFORWARDBF16_CUH

#include "runtime/kernels/attention/AttentionForwardTiles.cuh"

namespace reciperun::kernels::cuda {

/// The operands of the forward, with the layouts of ops/attention.ops. For a
/// block of the keys it accumulates into `sum` and lse, and out is null.
struct ForwardData {
  const Bf16 *q, *k, *v;
  Bf16* out;
  float* lse;
  bool isAligned; // all rows of heads, to 16 bytes
  float* sum = nullptr;
  bool isFirst = false; // whether this is the first block
};

/// One thread block's work.
template <int width> class ForwardBlock : private ForwardTiles<width> {
  using Tiles = ForwardTiles<width>;
  using typename Tiles::Scores;

public:
  using Tiles::blockQueries, Tiles::threads;
  static constexpr int sharedBytes =
      Tiles::sharedBytes + tileTokens * int(sizeof(KeyToken));

  __device__ ForwardBlock(const AttentionShape& shape, const ForwardData& data,
                          char* shared)
      : Tiles(shared),
        keyTokens(reinterpret_cast<KeyToken*>(shared + Tiles::sharedBytes)),
        shape(shape), data(data), sequence(int(blockIdx.z)),
        head(int(blockIdx.y)),
        // The last queries first: they see the most keys.
        firstQuery((int(gridDim.x) - 1 - int(blockIdx.x)) * blockQueries),
        queries(shape.queries.of(sequence)), keys(shape.keys.of(sequence)),
        bounds(boundsOf(queries, firstQuery / tileTokens, strips)) {}

  __device__ void run() {
    this->clear();
    int tile = next(0);
    fill<blockQueries, threads>(
        queryTile,
        TileSource{data.q + shape.queryAt(sequence, head, firstQuery),
                   int64_t(shape.heads) * shape.width,
                   queries.count - firstQuery, shape.width, data.isAligned});
    if (tile < keys.tiles())
      fillKeys(tile);
    commitCopies();
    while (tile < keys.tiles()) {
      waitForCopies<0>();
      __syncthreads();
      fillSide(this->valueTile(), data.v, tile);
      commitCopies();
      Scores scores = {};
      this->score(scores);
      mask(tile, scores);
      const int following = next(tile + 1);
      waitForCopies<0>();
      __syncthreads();
      if (following < keys.tiles())
        fillKeys(following);
      commitCopies();
      this->absorb(scores);
      this->accumulate(scores);
      tile = following;
    }
    waitForCopies<0>();
    store();
  }

private:
  using Tiles::lane, Tiles::maximum, Tiles::out, Tiles::outColumns;
  using Tiles::queryTile, Tiles::strips, Tiles::sum;

  /// The first tile from `from` on that the queries see.
  __device__ __forceinline__ int next(int from) const {
    return nextTile(from, keys.tiles(), [&](int tile) {
      return seenOf(bounds, keys.bounds[tile], shape.rule) != Seen::none;
    });
  }

  __device__ __forceinline__ void fillSide(Tile<width> to, const Bf16* from,
                                           int tile) const {
    const int first = tile * tileTokens;
    fill<tileTokens, threads>(
        to,
        TileSource{from + shape.keyAt(sequence, head / shape.group(), first),
                   int64_t(shape.keyHeads) * shape.width, keys.count - first,
                   shape.width, data.isAligned});
  }

  __device__ __forceinline__ void fillKeys(int tile) const {
    fillSide(this->keyTile(), data.k, tile);
    if (threadIdx.x < tileTokens)
      keyTokens[threadIdx.x] =
          keys.key(tile * tileTokens + int(threadIdx.x), shape.rule);
  }

  /// Turns products into scores in units of log 2, -infinity where a query does
  /// not see a key.
  __device__ __forceinline__ void mask(int tile, Scores& scores) const {
    Tiles::asScores(shape, scores);
    if ((tile + 1) * tileTokens <= keys.count &&
        seenOf(bounds, keys.bounds[tile], shape.rule) == Seen::all)
      return;
    this->hide(
        [&](int row) {
          return [this, own = queries.query(firstQuery + row)](int column) {
            return sees(own, keyTokens[column]);
          };
        },
        scores);
  }

  __device__ __forceinline__ void store() const {
#pragma unroll
    for (int s = 0; s < strips; ++s)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int query = queryOf(s, half);
        const float before = lseBefore(query);
        const float all = sumOfRow(sum[s][half]);
        __syncwarp(); // all lanes of a row have read its lse
        if (query >= queries.count)
          continue;
        if (data.sum) {
          carryOn(s, half, before, all);
          continue;
        }
        const bool sawNothing = all == 0;
        const float factor = sawNothing ? 0.0f : 1.0f / all;
        if (lane % 4 == 0)
          data.lse[shape.rowAt(sequence, head, query)] =
              sawNothing ? 0.0f : (maximum[s][half] + log2f(all)) * logOf2;
        Bf16* const row = data.out + shape.queryAt(sequence, head, query);
#pragma unroll
        for (int n = 0; n < outColumns; ++n)
          storePair(row, n * 8 + lane % 4 * 2, shape.width, data.isAligned,
                    out[s][n][2 * half] * factor,
                    out[s][n][2 * half + 1] * factor);
      }
  }

  __device__ float lseBefore(int query) const {
    if (!data.sum || data.isFirst || query >= queries.count)
      return nothingSeenYet;
    return data.lse[shape.rowAt(sequence, head, query)];
  }

  /// Merges a row with the result of earlier blocks.
  __device__ __forceinline__ void carryOn(int s, int half, float before,
                                          float all) const {
    const int query = queryOf(s, half);
    const bool sawNothing = all == 0;
    if (sawNothing && !data.isFirst)
      return;
    const float own =
        sawNothing ? nothingSeenYet : (maximum[s][half] + log2f(all)) * logOf2;
    const Merge merge(before, own);
    const float factor = sawNothing ? 0.0f : merge.own / all;
    if (lane % 4 == 0)
      data.lse[shape.rowAt(sequence, head, query)] =
          sawNothing ? nothingSeenYet : merge.lse;
    float* const row = data.sum + shape.queryAt(sequence, head, query);
#pragma unroll
    for (int n = 0; n < outColumns; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int column = n * 8 + lane % 4 * 2 + i;
        if (column >= shape.width)
          continue;
        const float kept = data.isFirst ? 0.0f : merge.before * row[column];
        row[column] = kept + factor * out[s][n][2 * half + i];
      }
  }

  /// The query of this lane's row of a strip.
  __device__ int queryOf(int strip, int half) const {
    return firstQuery + this->rowOf(strip, half);
  }

  KeyToken* const keyTokens; // of the tile of keys
  const AttentionShape& shape;
  const ForwardData& data;
  const int sequence, head, firstQuery;
  const TokenSide queries, keys;
  const TokenBounds bounds;
};

template <int width>
__global__ __launch_bounds__(128) void attentionForwardBf16(
    const __grid_constant__ AttentionShape shape,
    const __grid_constant__ ForwardData data) {
  extern __shared__ __align__(128) char shared[];
  ForwardBlock<width>(shape, data, shared).run();
}

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_ATTENTIONFORWARDBF16_CUH
