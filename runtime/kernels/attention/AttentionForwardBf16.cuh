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

#include "runtime/kernels/attention/AttentionShape.cuh"
#include "runtime/kernels/common/MatrixFragments.cuh"

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

/// One thread block's work. `width` is the head's, padded to a multiple of 64.
/// Wide heads leave registers for one strip only.
template <int width> class ForwardBlock {
public:
  static constexpr int threads = 128;
  static constexpr int strips = width <= 128 ? 2 : 1;
  static constexpr int blockQueries = 64 * strips;
  static constexpr int sharedBytes =
      (blockQueries + 2 * tileTokens) * Tile<width>::rowBytes +
      tileTokens * int(sizeof(KeyToken));

  __device__ ForwardBlock(const AttentionShape& shape, const ForwardData& data,
                          char* shared)
      : shape(shape), data(data), queryTile{reinterpret_cast<Bf16*>(shared)},
        keyTile{queryTile.data + blockQueries * width}, valueTile{keyTile.data +
                                                                  tileTokens *
                                                                      width},
        keyTokens(
            reinterpret_cast<KeyToken*>(valueTile.data + tileTokens * width)),
        lane(int(threadIdx.x) % 32), sequence(int(blockIdx.z)),
        head(int(blockIdx.y)),
        // The last queries first: they see the most keys.
        firstQuery((int(gridDim.x) - 1 - int(blockIdx.x)) * blockQueries),
        warpRow(int(threadIdx.x) / 32 * 16 * strips),
        queries(shape.queries.of(sequence)), keys(shape.keys.of(sequence)),
        bounds(boundsOf(queries, firstQuery / tileTokens, strips)) {}

  __device__ void run() {
    clear();
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
      fillSide(valueTile, data.v, tile);
      commitCopies();
      float scores[strips][keyColumns][4] = {};
      score(scores);
      mask(tile, scores);
      const int following = next(tile + 1);
      waitForCopies<0>();
      __syncthreads();
      if (following < keys.tiles())
        fillKeys(following);
      commitCopies();
      absorb(scores);
      accumulate(scores);
      tile = following;
    }
    waitForCopies<0>();
    store();
  }

private:
  static constexpr int keyColumns = tileTokens / 8, outColumns = width / 8;

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int s = 0; s < strips; ++s) {
      maximum[s][0] = maximum[s][1] = nothingSeenYet;
      sum[s][0] = sum[s][1] = 0;
#pragma unroll
      for (int n = 0; n < outColumns; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          out[s][n][i] = 0;
    }
  }

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
    fillSide(keyTile, data.k, tile);
    if (threadIdx.x < tileTokens)
      keyTokens[threadIdx.x] =
          keys.key(tile * tileTokens + int(threadIdx.x), shape.rule);
  }

  /// scores += queries keys^T.
  __device__ __forceinline__ void
  score(float (&scores)[strips][keyColumns][4]) const {
    const Operands<width> left(queryTile, lane), right(keyTile, lane);
#pragma unroll
    for (int d = 0; d < width; d += 16) {
      uint32_t a[strips][4];
#pragma unroll
      for (int s = 0; s < strips; ++s)
        left.left(a[s], warpRow + s * 16, d);
#pragma unroll
      for (int n = 0; n < keyColumns; n += 2) {
        uint32_t b[4];
        right.right(b, n * 8, d);
#pragma unroll
        for (int s = 0; s < strips; ++s) {
          multiply(scores[s][n], a[s], b[0], b[1]);
          multiply(scores[s][n + 1], a[s], b[2], b[3]);
        }
      }
    }
  }

  /// Turns products into scores in units of log 2, -infinity where a query does
  /// not see a key.
  __device__ __forceinline__ void
  mask(int tile, float (&scores)[strips][keyColumns][4]) const {
    const ScoreRule rule(shape);
    if (rule.isCapped())
      asScores<true>(rule, scores);
    else
      asScores<false>(rule, scores);
    if ((tile + 1) * tileTokens <= keys.count &&
        seenOf(bounds, keys.bounds[tile], shape.rule) == Seen::all)
      return;
#pragma unroll
    for (int s = 0; s < strips; ++s)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const QueryToken query = queries.query(queryOf(s, half));
#pragma unroll
        for (int n = 0; n < keyColumns; ++n)
#pragma unroll
          for (int i = 0; i < 2; ++i)
            if (!sees(query, keyTokens[n * 8 + lane % 4 * 2 + i]))
              scores[s][n][2 * half + i] = -INFINITY;
      }
  }

  template <bool capped>
  __device__ static __forceinline__ void
  asScores(const ScoreRule& rule, float (&products)[strips][keyColumns][4]) {
#pragma unroll
    for (int s = 0; s < strips; ++s)
#pragma unroll
      for (int n = 0; n < keyColumns; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          products[s][n][i] = rule.score<capped>(products[s][n][i]);
  }

  /// Updates the softmax: scores become exp(score - maximum).
  __device__ __forceinline__ void
  absorb(float (&scores)[strips][keyColumns][4]) {
#pragma unroll
    for (int s = 0; s < strips; ++s)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float raised = maximum[s][half];
#pragma unroll
        for (int n = 0; n < keyColumns; ++n)
          raised = fmaxf(raised, fmaxf(scores[s][n][2 * half],
                                       scores[s][n][2 * half + 1]));
        raised = largestOfRow(raised);
        const float rescale = powerOf2(maximum[s][half] - raised);
        maximum[s][half] = raised;
        sum[s][half] *= rescale;
#pragma unroll
        for (int n = 0; n < keyColumns; ++n)
#pragma unroll
          for (int i = 2 * half; i < 2 * half + 2; ++i) {
            scores[s][n][i] = powerOf2(scores[s][n][i] - raised);
            sum[s][half] += scores[s][n][i];
          }
#pragma unroll
        for (int n = 0; n < outColumns; ++n) {
          out[s][n][2 * half] *= rescale;
          out[s][n][2 * half + 1] *= rescale;
        }
      }
  }

  /// out += weights values.
  __device__ __forceinline__ void
  accumulate(const float (&weights)[strips][keyColumns][4]) {
    const Operands<width> right(valueTile, lane);
#pragma unroll
    for (int key = 0; key < tileTokens; key += 16) {
      uint32_t a[strips][4];
#pragma unroll
      for (int s = 0; s < strips; ++s)
        asLeft(a[s], weights[s][key / 8], weights[s][key / 8 + 1]);
#pragma unroll
      for (int n = 0; n < outColumns; n += 2) {
        uint32_t b[4];
        right.rightAcross(b, n * 8, key);
#pragma unroll
        for (int s = 0; s < strips; ++s) {
          multiply(out[s][n], a[s], b[0], b[1]);
          multiply(out[s][n + 1], a[s], b[2], b[3]);
        }
      }
    }
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
    return firstQuery + warpRow + strip * 16 + half * 8 + lane / 4;
  }

  const AttentionShape& shape;
  const ForwardData& data;
  const Tile<width> queryTile, keyTile, valueTile;
  KeyToken* const keyTokens;
  const int lane, sequence, head, firstQuery, warpRow;
  const TokenSide queries, keys;
  const TokenBounds bounds;
  float maximum[strips][2], sum[strips][2]; // sum: over this lane's columns
  float out[strips][outColumns][4];
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
