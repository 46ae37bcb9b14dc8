// Attention and its gradients in f32 without tensor cores: the algorithms of
// AttentionForwardBf16.cuh and AttentionBackwardBf16.cuh in tiles of 32 by 32.
//
// 256 threads are 16 x 16. Thread (y, x) has rows y and y + 16 of a tile,
// columns x and x + 16 of the scores, and every 16th element of the width from
// x on.

#ifndef RECIPERUN_KERNELS_ATTENTION_ATTENTIONF32_CUH
#define RECIPERUN_KERNELS_ATTENTION_ATTENTIONF32_CUH

#include "runtime/kernels/attention/AttentionForward.cuh"

namespace reciperun::kernels::cuda {

namespace plain {

inline constexpr int side = 32, threads = 256, lanes = 16;
/// The stride between rows of scores.
inline constexpr int scoreRow = side + 1;

struct Place {
  int x = int(threadIdx.x) % lanes, y = int(threadIdx.x) / lanes;
};

/// Rows of a head in shared memory. The odd stride puts a column of 32 rows
/// into 32 banks.
struct Rows {
  float* data;
  int width;
  __device__ const float* operator[](int row) const {
    return data + row * (width + 1);
  }
  __device__ void fill(const float* from, int64_t stride, int count) const {
    for (int i = int(threadIdx.x); i < side * width; i += threads) {
      const int row = i / width, column = i % width;
      data[row * (width + 1) + column] =
          row < count ? from[row * stride + column] : 0.0f;
    }
  }
};

__host__ __device__ inline int rowsSize(int width) {
  return side * (width + 1);
}

/// This thread's products [2, 2] = rows columns^T.
__device__ inline void multiply(float (&products)[2][2], const Rows& rows,
                                const Rows& columns) {
  const Place at;
  for (int r = 0; r < 2; ++r)
    products[r][0] = products[r][1] = 0;
  for (int d = 0; d < rows.width; ++d)
    for (int r = 0; r < 2; ++r)
      for (int c = 0; c < 2; ++c)
        products[r][c] +=
            rows[at.y + r * lanes][d] * columns[at.x + c * lanes][d];
}

/// This thread's sums [2, pieces] += left [32, 32] columns [32, width].
template <int pieces>
__device__ void add(float (&sums)[2][pieces], const float* left,
                    const Rows& columns) {
  const Place at;
  for (int j = 0; j < side; ++j)
#pragma unroll
    for (int p = 0; p < pieces; ++p) {
      const int d = at.x + p * lanes;
      if (d >= columns.width)
        continue;
      const float value = columns[j][d];
      sums[0][p] += left[at.y * scoreRow + j] * value;
      sums[1][p] += left[(at.y + lanes) * scoreRow + j] * value;
    }
}

__device__ inline float overLanes(float x, bool isSum) {
  for (int mask = lanes / 2; mask; mask /= 2) {
    const float other = __shfl_xor_sync(~0u, x, mask);
    x = isSum ? x + other : fmaxf(x, other);
  }
  return x;
}

__device__ inline float score(const AttentionShape& shape, float product) {
  const float score = shape.scale * product;
  return shape.softcap > 0 ? shape.softcap * tanhf(score / shape.softcap)
                           : score;
}
/// The derivative of the softcap at a score.
__device__ inline float bend(const AttentionShape& shape, float score) {
  const float t = shape.softcap > 0 ? score / shape.softcap : 0.0f;
  return 1.0f - t * t;
}

__host__ __device__ inline int forwardBytes(int width) {
  return (3 * rowsSize(width) + side * scoreRow) * int(sizeof(float));
}
__host__ __device__ inline int gradientBytes(int width) {
  return (4 * rowsSize(width) + 2 * side * scoreRow) * int(sizeof(float));
}

/// The number of tiles of 32 that `count` tokens take.
__host__ __device__ inline int tilesOf(int count) {
  return (count + side - 1) / side;
}

} // namespace plain

/// `pieces` * 16 is at least the width.
template <int pieces>
__global__ __launch_bounds__(plain::threads) void attentionForwardF32(
    const __grid_constant__ AttentionShape shape, const float* q,
    const float* k, const float* v, float* out, float* lse, KeyBlock block) {
  using namespace plain;
  extern __shared__ float floats[];
  const Rows own{floats, shape.width};
  const Rows keyRows{own.data + rowsSize(shape.width), shape.width};
  const Rows valueRows{keyRows.data + rowsSize(shape.width), shape.width};
  float* const weights = valueRows.data + rowsSize(shape.width);
  const Place at;
  const int sequence = int(blockIdx.z), head = int(blockIdx.y);
  const int keyHead = head / shape.group(), first = int(blockIdx.x) * side;
  const TokenSide queries = shape.queries.of(sequence);
  const TokenSide keys = shape.keys.of(sequence);
  const TokenBounds bounds = queries.bounds[first / tileTokens];

  own.fill(q + shape.queryAt(sequence, head, first),
           int64_t(shape.heads) * shape.width, queries.count - first);
  float maximum[2] = {nothingSeenYet, nothingSeenYet}, sum[2] = {};
  float sums[2][pieces] = {};
  for (int tile = 0; tile < tilesOf(keys.count); ++tile) {
    const int firstKey = tile * side;
    if (seenOf(bounds, keys.bounds[firstKey / tileTokens], shape.rule) ==
        Seen::none)
      continue;
    __syncthreads();
    const int64_t from = shape.keyAt(sequence, keyHead, firstKey);
    const int64_t stride = int64_t(shape.keyHeads) * shape.width;
    keyRows.fill(k + from, stride, keys.count - firstKey);
    valueRows.fill(v + from, stride, keys.count - firstKey);
    __syncthreads();
    float scores[2][2];
    multiply(scores, own, keyRows);
    for (int r = 0; r < 2; ++r) {
      const QueryToken query = queries.query(first + at.y + r * lanes);
      float raised = maximum[r];
      for (int c = 0; c < 2; ++c) {
        const KeyToken key = keys.key(firstKey + at.x + c * lanes, shape.rule);
        scores[r][c] =
            sees(query, key) ? score(shape, scores[r][c]) : -INFINITY;
        raised = fmaxf(raised, scores[r][c]);
      }
      raised = overLanes(raised, false);
      const float rescale = expf(maximum[r] - raised);
      maximum[r] = raised;
      sum[r] *= rescale;
      for (int c = 0; c < 2; ++c) {
        const float weight = expf(scores[r][c] - raised);
        sum[r] += weight;
        weights[(at.y + r * lanes) * scoreRow + at.x + c * lanes] = weight;
      }
#pragma unroll
      for (int p = 0; p < pieces; ++p)
        sums[r][p] *= rescale;
    }
    __syncthreads();
    add(sums, weights, valueRows);
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int query = first + at.y + r * lanes;
    const bool isThere = query < queries.count;
    const int64_t state = shape.rowAt(sequence, head, isThere ? query : 0);
    const float before =
        isThere && block == KeyBlock::later ? lse[state] : nothingSeenYet;
    const float all = overLanes(sum[r], true);
    __syncwarp(); // all lanes of a row have read its lse
    const bool sawNothing = all == 0;
    if (!isThere || (sawNothing && block == KeyBlock::later))
      continue;
    const Merge merge(before,
                      sawNothing ? nothingSeenYet : maximum[r] + logf(all));
    if (at.x == 0) {
      const float nothing = block == KeyBlock::whole ? 0.0f : nothingSeenYet;
      lse[state] = sawNothing ? nothing : merge.lse;
    }
    const float factor = sawNothing ? 0.0f : merge.own / all;
    float* const row = out + shape.queryAt(sequence, head, query);
#pragma unroll
    for (int p = 0; p < pieces; ++p)
      if (const int d = at.x + p * lanes; d < shape.width) {
        const float kept =
            block == KeyBlock::later ? merge.before * row[d] : 0.0f;
        row[d] = kept + factor * sums[r][p];
      }
  }
}

struct PlainBackwardData {
  const float *q, *k, *v, *dout, *lse, *delta;
  float *dq, *dk, *dv;
  bool addsToSums = false; // for a block of keys: accumulate into the gradients
};

/// Computes dk and dv of a tile of keys, or dq of a tile of queries.
template <int pieces, bool ofKeys>
__global__ __launch_bounds__(plain::threads) void attentionGradientF32(
    const __grid_constant__ AttentionShape shape,
    const __grid_constant__ PlainBackwardData data) {
  using namespace plain;
  extern __shared__ float floats[];
  const int width = shape.width, size = rowsSize(width);
  const Rows own[2] = {{floats, width}, {floats + size, width}};
  const Rows others[2] = {{floats + 2 * size, width},
                          {floats + 3 * size, width}};
  float* const weights = floats + 4 * size;
  float* const slopes = weights + side * scoreRow;
  const Place at;
  const int sequence = int(blockIdx.z), head = int(blockIdx.y);
  const int keyHead = ofKeys ? head : head / shape.group();
  const int first = int(blockIdx.x) * side;
  const TokenSide queries = shape.queries.of(sequence);
  const TokenSide keys = shape.keys.of(sequence);
  const int64_t queryStride = int64_t(shape.heads) * width;
  const int64_t keyStride = int64_t(shape.keyHeads) * width;

  auto fillQueries = [&](const Rows(&to)[2], int queryHead, int from) {
    const int64_t begin = shape.queryAt(sequence, queryHead, from);
    to[0].fill(data.q + begin, queryStride, queries.count - from);
    to[1].fill(data.dout + begin, queryStride, queries.count - from);
  };
  auto fillKeys = [&](const Rows(&to)[2], int from) {
    const int64_t begin = shape.keyAt(sequence, keyHead, from);
    to[0].fill(data.k + begin, keyStride, keys.count - from);
    to[1].fill(data.v + begin, keyStride, keys.count - from);
  };

  auto put = [&](float& to, float value) {
    to = data.addsToSums ? to + value : value;
  };

  if (ofKeys)
    fillKeys(own, first);
  else
    fillQueries(own, head, first);
  float ofScores[2][pieces] = {}, ofWeights[2][pieces] = {};
  const int members = ofKeys ? shape.group() : 1;
  const int tiles = tilesOf(ofKeys ? queries.count : keys.count);
  for (int turn = 0; turn < members * tiles; ++turn) {
    const int queryHead = ofKeys ? head * members + turn / tiles : head;
    const int other = turn % tiles * side;
    const int firstQuery = ofKeys ? other : first;
    const int firstKey = ofKeys ? first : other;
    if (seenOf(queries.bounds[firstQuery / tileTokens],
               keys.bounds[firstKey / tileTokens], shape.rule) == Seen::none)
      continue;
    __syncthreads();
    if (ofKeys)
      fillQueries(others, queryHead, other);
    else
      fillKeys(others, other);
    __syncthreads();
    float score[2][2], slope[2][2];
    multiply(score, own[0], others[0]);
    multiply(slope, own[1], others[1]);
    for (int r = 0; r < 2; ++r)
      for (int c = 0; c < 2; ++c) {
        const int row = at.y + r * lanes, column = at.x + c * lanes;
        const int query = firstQuery + (ofKeys ? column : row);
        const int key = firstKey + (ofKeys ? row : column);
        float weight = 0, change = 0;
        if (sees(queries.query(query), keys.key(key, shape.rule))) {
          const int64_t state = shape.rowAt(sequence, queryHead, query);
          const float s = plain::score(shape, score[r][c]);
          weight = expf(s - data.lse[state]);
          change = shape.scale * bend(shape, s) * weight *
                   (slope[r][c] - data.delta[state]);
        }
        weights[row * scoreRow + column] = weight;
        slopes[row * scoreRow + column] = change;
      }
    __syncthreads();
    add(ofScores, slopes, others[0]);
    if (ofKeys)
      add(ofWeights, weights, others[1]);
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = first + at.y + r * lanes;
    if (row >= (ofKeys ? keys : queries).count)
      continue;
    const int64_t begin = ofKeys ? shape.keyAt(sequence, head, row)
                                 : shape.queryAt(sequence, head, row);
#pragma unroll
    for (int p = 0; p < pieces; ++p) {
      const int d = at.x + p * lanes;
      if (d >= width)
        continue;
      put((ofKeys ? data.dk : data.dq)[begin + d], ofScores[r][p]);
      if (ofKeys)
        put(data.dv[begin + d], ofWeights[r][p]);
    }
  }
}

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_ATTENTIONF32_CUH
