// The gradients of attention in bf16 on tensor cores, with recomputed scores
// (Dao 2023, "FlashAttention-2", algorithm 2).
//
// With P = exp(score - lse) and delta = sum(do o):
//   dv = P^T do,  dS = scale P (do v^T - delta),  dq = dS k,  dk = dS^T q
// Each gradient has one owner, so the order of accumulation is fixed. One
// algorithm serves both sides. A thread block owns 64 rows and loops over the
// columns in tiles of 64. A warp has 16 rows.
//   keys:    rows are k and v, columns q and do of all heads of the group;
//            dk and dv are sums over the columns;
//   queries: rows are q and do, columns k and v; dq is a sum over them.
//   1. copy the rows and the first tile of columns into shared memory;
//   2. while the next tile is copied: matmuls row column^T of both pairs. P and
//      dS, masked like in forward, stay in registers, where the accumulators of
//      one matmul have the layout of the left operand of the next;
//   3. accumulate P and dS times the columns into the gradients.
// For heads wider than 128, dk and dv are computed in slices of the width that
// fit the registers, each by a thread block of its own.

#ifndef RECIPERUN_KERNELS_ATTENTION_ATTENTIONBACKWARDBF16_CUH
#define RECIPERUN_KERNELS_ATTENTION_ATTENTIONBACKWARDBF16_CUH

#include "runtime/kernels/attention/AttentionShape.cuh"
#include "runtime/kernels/common/MatrixFragments.cuh"

namespace reciperun::kernels::cuda {

/// The operands of the backward, with the layouts of ops/attention.ops; delta
/// is like lse. The gradients are bf16, or f32 accumulators for a block of
/// keys.
struct BackwardData {
  const Bf16 *q, *k, *v, *dout;
  const float *lse, *delta;
  void *dq, *dk, *dv;
  bool isAligned; // all rows of heads, to 16 bytes
  bool addsToSums = false;
};

/// The per-query state: lse in units of log 2, and delta.
struct QueryState {
  float lse, delta;
};

template <int width, bool ofKeys> class GradientBlock {
public:
  static constexpr int threads = 128;
  static constexpr int rows = tileTokens;
  /// The number of width elements whose gradients a thread block computes.
  static constexpr int piece = ofKeys && width > 128 ? (width == 192 ? 64 : 128)
                                                     : width;
  static constexpr int pieces = width / piece;
  static constexpr int sharedBytes =
      (2 * rows + 4 * tileTokens) * Tile<width>::rowBytes +
      2 * tileTokens * int(sizeof(KeyToken) + sizeof(QueryState));

  __device__ GradientBlock(const AttentionShape& shape,
                           const BackwardData& data, char* shared)
      : shape(shape), data(data), lane(int(threadIdx.x) % 32),
        warpRow(int(threadIdx.x) / 32 * 16), sequence(int(blockIdx.z)),
        head(int(blockIdx.y) / pieces), begin(int(blockIdx.y) % pieces * piece),
        // The rows with the most visible columns first.
        rowTile(ofKeys ? int(blockIdx.x) : int(gridDim.x - 1 - blockIdx.x)),
        queries(shape.queries.of(sequence)), keys(shape.keys.of(sequence)),
        bounds((ofKeys ? keys : queries).bounds[rowTile]), shared(shared) {}

  __device__ void run() {
    clear();
    Place place = next({0, 0});
    fillRows();
    if (place.member < members())
      fillColumns(place, 0);
    commitCopies();
    for (int turn = 0; place.member < members(); turn ^= 1) {
      const Place following = next({place.member, place.tile + 1});
      waitForCopies<0>();
      __syncthreads();
      if (following.member < members())
        fillColumns(following, turn ^ 1);
      commitCopies();
      take(place, stageOf(turn));
      place = following;
    }
    waitForCopies<0>();
    store();
  }

private:
  static constexpr int columnTiles = tileTokens / 8, sumTiles = piece / 8;

  /// A tile of columns of one of the query heads that share the key head.
  struct Place {
    int member, tile;
  };
  /// A tile of columns in shared memory: k and v, or q and do.
  struct Stage {
    Tile<width> first, second;
    QueryState* state; // when columns are queries
    KeyToken* keys;
    QueryToken* queries; // aliases the keys
  };

  /// Shared memory: two row tiles, two stages of two column tiles, then two
  /// stages of the state and tokens of the columns.
  __device__ __forceinline__ Tile<width> tileOf(int number) const {
    return {reinterpret_cast<Bf16*>(shared) + number * tileTokens * width};
  }
  __device__ __forceinline__ Tile<width> firstRows() const { return tileOf(0); }
  __device__ __forceinline__ Tile<width> secondRows() const {
    return tileOf(1);
  }
  __device__ __forceinline__ Stage stageOf(int turn) const {
    auto* const state = reinterpret_cast<QueryState*>(tileOf(6).data);
    auto* const tokens =
        reinterpret_cast<KeyToken*>(state + 2 * tileTokens) + turn * tileTokens;
    return {tileOf(2 + 2 * turn), tileOf(3 + 2 * turn),
            state + turn * tileTokens, tokens,
            reinterpret_cast<QueryToken*>(tokens)};
  }

  __device__ int members() const { return ofKeys ? shape.group() : 1; }
  __device__ const TokenSide& columnSide() const {
    return ofKeys ? queries : keys;
  }
  __device__ int queryHead(int member) const {
    return ofKeys ? head * shape.group() + member : head;
  }
  __device__ int keyHead() const {
    return ofKeys ? head : head / shape.group();
  }

  __device__ __forceinline__ Seen seen(int tile) const {
    return ofKeys ? seenOf(queries.bounds[tile], bounds, shape.rule)
                  : seenOf(bounds, keys.bounds[tile], shape.rule);
  }

  /// The first tile from `from` on that rows see, in this or a later member.
  __device__ __forceinline__ Place next(Place from) const {
    for (; from.member < members(); from = {from.member + 1, 0}) {
      from.tile = nextTile(from.tile, columnSide().tiles(),
                           [&](int tile) { return seen(tile) != Seen::none; });
      if (from.tile < columnSide().tiles())
        break;
    }
    return from;
  }

  __device__ __forceinline__ TileSource queryRows(const Bf16* from, int member,
                                                  int first) const {
    return {from + shape.queryAt(sequence, queryHead(member), first),
            int64_t(shape.heads) * shape.width, queries.count - first,
            shape.width, data.isAligned};
  }
  __device__ __forceinline__ TileSource keyRows(const Bf16* from,
                                                int first) const {
    return {from + shape.keyAt(sequence, keyHead(), first),
            int64_t(shape.keyHeads) * shape.width, keys.count - first,
            shape.width, data.isAligned};
  }

  __device__ __forceinline__ void fillRows() const {
    const int first = rowTile * rows;
    if constexpr (ofKeys) {
      fill<rows, threads>(firstRows(), keyRows(data.k, first));
      fill<rows, threads>(secondRows(), keyRows(data.v, first));
    } else {
      fill<rows, threads>(firstRows(), queryRows(data.q, 0, first));
      fill<rows, threads>(secondRows(), queryRows(data.dout, 0, first));
    }
  }

  __device__ __forceinline__ void fillColumns(Place place, int turn) const {
    const Stage stage = stageOf(turn);
    const int first = place.tile * tileTokens;
    if constexpr (ofKeys) {
      fill<tileTokens, threads>(stage.first,
                                queryRows(data.q, place.member, first));
      fill<tileTokens, threads>(stage.second,
                                queryRows(data.dout, place.member, first));
    } else {
      fill<tileTokens, threads>(stage.first, keyRows(data.k, first));
      fill<tileTokens, threads>(stage.second, keyRows(data.v, first));
    }
    const int own = int(threadIdx.x);
    if (own >= tileTokens)
      return;
    if constexpr (ofKeys) {
      stage.queries[own] = queries.query(first + own);
      stage.state[own] = stateOf(place.member, first + own);
    } else {
      stage.keys[own] = keys.key(first + own, shape.rule);
    }
  }

  __device__ __forceinline__ QueryState stateOf(int member, int query) const {
    if (query >= queries.count)
      return {0, 0};
    const int64_t at = shape.rowAt(sequence, queryHead(member), query);
    return {data.lse[at] * log2OfE, data.delta[at]};
  }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int n = 0; n < sumTiles; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        ofScores[n][i] = 0;
        if constexpr (ofKeys)
          ofWeights[n][i] = 0;
      }
  }

  /// Accumulates the contribution of a tile of columns.
  __device__ __forceinline__ void take(Place place, const Stage& stage) {
    float weights[columnTiles][4] = {}, slopes[columnTiles][4] = {};
    product(weights, firstRows(), stage.first);
    product(slopes, secondRows(), stage.second);
    const ScoreRule rule(shape);
    if (rule.isCapped())
      weigh<true>(rule, stage, weights, slopes);
    else
      weigh<false>(rule, stage, weights, slopes);
    if ((place.tile + 1) * tileTokens > columnSide().count ||
        (rowTile + 1) * rows > (ofKeys ? keys : queries).count ||
        seen(place.tile) != Seen::all)
      hide(stage, weights, slopes);
    if constexpr (ofKeys)
      add(ofWeights, weights, stage.second);
    add(ofScores, slopes, stage.first);
  }

  /// products [16, 64] += rows columns^T.
  __device__ __forceinline__ void product(float (&products)[columnTiles][4],
                                          Tile<width> own,
                                          Tile<width> others) const {
    const Operands<width> left(own, lane), right(others, lane);
    const int row = warpRow;
#pragma unroll
    for (int d = 0; d < width; d += 16) {
      uint32_t a[4];
      left.left(a, row, d);
#pragma unroll
      for (int n = 0; n < columnTiles; n += 2) {
        uint32_t b[4];
        right.right(b, n * 8, d);
        multiply(products[n], a, b[0], b[1]);
        multiply(products[n + 1], a, b[2], b[3]);
      }
    }
  }

  /// Turns the results of the matmuls into P and dS.
  template <bool capped>
  __device__ __forceinline__ void weigh(const ScoreRule& rule,
                                        const Stage& stage,
                                        float (&weights)[columnTiles][4],
                                        float (&slopes)[columnTiles][4]) const {
    QueryState own[2] = {};
    if constexpr (!ofKeys)
      for (int half = 0; half < 2; ++half)
        own[half] = stateOf(0, rowOf(half));
#pragma unroll
    for (int n = 0; n < columnTiles; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const QueryState state =
            ofKeys ? stage.state[columnOf(n, i)] : own[i / 2];
        const float score = rule.score<capped>(weights[n][i]);
        weights[n][i] = powerOf2(score - state.lse);
        slopes[n][i] = shape.scale * rule.slope<capped>(score) * weights[n][i] *
                       (slopes[n][i] - state.delta);
      }
  }

  /// Sets P and dS to 0 where a query does not see a key.
  __device__ __forceinline__ void hide(const Stage& stage,
                                       float (&weights)[columnTiles][4],
                                       float (&slopes)[columnTiles][4]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const KeyToken key =
          ofKeys ? keys.key(rowOf(half), shape.rule) : KeyToken{};
      const QueryToken query =
          ofKeys ? QueryToken{} : queries.query(rowOf(half));
#pragma unroll
      for (int n = 0; n < columnTiles; ++n)
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          const int column = columnOf(n, i);
          const bool isSeen = ofKeys ? sees(stage.queries[column], key)
                                     : sees(query, stage.keys[column]);
          if (isSeen)
            continue;
          weights[n][i] = 0;
          slopes[n][i] = 0;
        }
    }
  }

  /// sums [16, piece] += left [16, 64] times this block's slice of the columns.
  __device__ __forceinline__ void add(float (&sums)[sumTiles][4],
                                      const float (&left)[columnTiles][4],
                                      Tile<width> columns) const {
    // A slice begins at a multiple of 64 elements (128 bytes).
    const Operands<width> right(Tile<width>{columns.data + begin}, lane);
#pragma unroll
    for (int column = 0; column < tileTokens; column += 16) {
      uint32_t a[4];
      asLeft(a, left[column / 8], left[column / 8 + 1]);
#pragma unroll
      for (int n = 0; n < sumTiles; n += 2) {
        uint32_t b[4];
        right.rightAcross(b, n * 8, column);
        multiply(sums[n], a, b[0], b[1]);
        multiply(sums[n + 1], a, b[2], b[3]);
      }
    }
  }

  __device__ __forceinline__ void store() const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = rowOf(half);
      if (row >= (ofKeys ? keys : queries).count)
        continue;
      if constexpr (ofKeys) {
        const int64_t at = shape.keyAt(sequence, head, row);
        storeRow(data.dk, at, ofScores, half);
        storeRow(data.dv, at, ofWeights, half);
      } else {
        storeRow(data.dq, shape.queryAt(sequence, head, row), ofScores, half);
      }
    }
  }
  __device__ __forceinline__ void storeRow(void* gradient, int64_t at,
                                           const float (&sums)[sumTiles][4],
                                           int half) const {
    if (data.addsToSums) {
      addRow(static_cast<float*>(gradient) + at, sums, half);
      return;
    }
    Bf16* const row = static_cast<Bf16*>(gradient) + at;
#pragma unroll
    for (int n = 0; n < sumTiles; ++n)
      storePair(row, begin + n * 8 + lane % 4 * 2, shape.width, data.isAligned,
                sums[n][2 * half], sums[n][2 * half + 1]);
  }
  __device__ __forceinline__ void
  addRow(float* row, const float (&sums)[sumTiles][4], int half) const {
#pragma unroll
    for (int n = 0; n < sumTiles; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        if (const int column = begin + columnOf(n, i); column < shape.width)
          row[column] += sums[n][2 * half + i];
  }

  /// The token of this lane's row, and this lane's column in a tile.
  __device__ int rowOf(int half) const {
    return rowTile * rows + warpRow + half * 8 + lane / 4;
  }
  __device__ int columnOf(int n, int i) const {
    return n * 8 + lane % 4 * 2 + i % 2;
  }

  const AttentionShape& shape;
  const BackwardData& data;
  const int lane, warpRow, sequence, head, begin, rowTile;
  const TokenSide queries, keys;
  const TokenBounds bounds;
  char* const shared;
  float ofScores[sumTiles][4];               // dk or dq
  float ofWeights[ofKeys ? sumTiles : 1][4]; // dv
};

template <int width, bool ofKeys>
__global__ __launch_bounds__(128) void attentionGradientBf16(
    const __grid_constant__ AttentionShape shape,
    const __grid_constant__ BackwardData data) {
  extern __shared__ __align__(128) char shared[];
  GradientBlock<width, ofKeys>(shape, data, shared).run();
}

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_ATTENTIONBACKWARDBF16_CUH
