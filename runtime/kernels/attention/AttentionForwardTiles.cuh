// The arithmetic of attention's forward on tensor cores: a block's tiles in
// shared memory, its accumulators in registers, and one step of Dao 2023,
// "FlashAttention-2", algorithm 1, for a tile of 64 keys.

#ifndef RECIPERUN_KERNELS_ATTENTION_ATTENTIONFORWARDTILES_CUH
#define RECIPERUN_KERNELS_ATTENTION_ATTENTIONFORWARDTILES_CUH

#include "runtime/kernels/attention/AttentionShape.cuh"
#include "runtime/kernels/common/MatrixFragments.cuh"

namespace reciperun::kernels::cuda {

/// The tiles of a block of four warps, which processes 64 `strips` queries of
/// one head. Each warp has `strips` strips of 16 queries. `width` is the
/// head's, padded to a multiple of 64. Wide heads leave registers for one strip
/// only. There is room for `buffers` tiles of keys and as many of values.
template <int width, int buffers = 1> class ForwardTiles {
public:
  static constexpr int threads = 128;
  static constexpr int strips = width <= 128 ? 2 : 1;
  static constexpr int blockQueries = 64 * strips;
  static constexpr int sharedBytes =
      (blockQueries + 2 * buffers * tileTokens) * Tile<width>::rowBytes;

protected:
  static constexpr int keyColumns = tileTokens / 8, outColumns = width / 8;
  using Scores = float[strips][keyColumns][4];

  __device__ explicit ForwardTiles(char* shared)
      : queryTile{reinterpret_cast<Bf16*>(shared)}, lane(int(threadIdx.x) % 32),
        warpRow(int(threadIdx.x) / 32 * 16 * strips) {}

  __device__ Tile<width> keyTile(int buffer = 0) const {
    return {queryTile.data + (blockQueries + 2 * buffer * tileTokens) * width};
  }
  __device__ Tile<width> valueTile(int buffer = 0) const {
    return {keyTile(buffer).data + tileTokens * width};
  }

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

  /// scores += queries keys^T.
  __device__ __forceinline__ void score(Scores& scores, int buffer = 0) const {
    const Operands<width> left(queryTile, lane), right(keyTile(buffer), lane);
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

  /// Turns products into scores in units of log 2.
  __device__ __forceinline__ static void asScores(const AttentionShape& shape,
                                                  Scores& products) {
    const ScoreRule rule(shape);
    if (rule.isCapped())
      asScores<true>(rule, products);
    else
      asScores<false>(rule, products);
  }

  /// Hides keys from the queries that do not see them. rows(row) is
  /// a function that says which columns of the tile of keys a row of the block
  /// sees.
  template <class Rows>
  __device__ __forceinline__ void hide(Rows rows, Scores& scores) const {
#pragma unroll
    for (int s = 0; s < strips; ++s)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const auto isSeen = rows(rowOf(s, half));
#pragma unroll
        for (int n = 0; n < keyColumns; ++n)
#pragma unroll
          for (int i = 0; i < 2; ++i)
            if (!isSeen(n * 8 + lane % 4 * 2 + i))
              scores[s][n][2 * half + i] = -INFINITY;
      }
  }

  /// Updates the softmax: scores become exp(score - maximum).
  __device__ __forceinline__ void absorb(Scores& scores) {
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
  __device__ __forceinline__ void accumulate(const Scores& weights,
                                             int buffer = 0) {
    const Operands<width> right(valueTile(buffer), lane);
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

  /// This lane's row of a strip, in the block.
  __device__ int rowOf(int strip, int half) const {
    return warpRow + strip * 16 + half * 8 + lane / 4;
  }

  const Tile<width> queryTile;
  const int lane, warpRow;
  float maximum[strips][2], sum[strips][2]; // sum: over this lane's columns
  float out[strips][outColumns][4];

private:
  template <bool capped>
  __device__ static __forceinline__ void asScores(const ScoreRule& rule,
                                                  Scores& products) {
#pragma unroll
    for (int s = 0; s < strips; ++s)
#pragma unroll
      for (int n = 0; n < keyColumns; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          products[s][n][i] = rule.score<capped>(products[s][n][i]);
  }
};

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_ATTENTIONFORWARDTILES_CUH
