// Attention over pages for single tokens (decoding).
//
// The positions that a token sees are cut into up to `pieces` pieces, so that
// even few tokens fill the GPU. A thread block processes a token, up to `heads`
// query heads that share a key head, and one piece. A group of neighbouring
// lanes reads a position's key and value, 16 bytes per lane, once for all
// heads, and keeps its part of the queries and sums in registers. The block
// merges the softmax of its groups of lanes through shared memory, and a second
// kernel merges the pieces in order.

#ifndef RECIPERUN_KERNELS_ATTENTION_PAGEDSINGLES_CUH
#define RECIPERUN_KERNELS_ATTENTION_PAGEDSINGLES_CUH

#include "runtime/kernels/attention/PagedStep.cuh"
#include "runtime/kernels/common/Vectors.cuh"

namespace reciperun::kernels::cuda {

inline constexpr int singleThreads = 128;
/// The most pieces of a token.
inline constexpr int mostPieces = 64;

/// The results of up to `count` pieces: the maximum of the scores in units of
/// log 2, the sum of their powers of 2, and the weighted sum of values,
/// [tokens, heads, count]. With one piece the kernel writes the output itself.
struct SinglePieces {
  int count;
  float* limits; // [.., 2]
  float* sums;   // [.., width]
};

/// The positions that the token at a position sees, cut into pieces. Pieces
/// have a least length, because merging short ones costs more than they save.
struct PieceRange {
  int first, length, count;

  __device__ PieceRange(const PagedStep& step, int position, int most) {
    constexpr int shortest = 32;
    first = step.firstSeen(position);
    const int seen = position + 1 - first;
    length = max(shortest, (seen + most - 1) / most);
    count = (seen + length - 1) / length;
  }
};

/// The single tokens: those of a division, or all tokens of the step.
struct SingleTokens {
  const int* list; // null: all
  const int* count;

  /// The token of a block; -1 if it has none.
  __device__ int at(int block, const StepTokens& tokens) const {
    if (list)
      return block < *count ? list[block] : -1;
    return tokens.isPadding(block) ? -1 : block;
  }
};

/// The partial results of a block's groups of lanes, in shared memory: weighted
/// sums of values [groups, heads, width] and limits [groups, heads] as in
/// SinglePieces.
struct GroupSums {
  float* sums;
  int groups, heads, width;

  __device__ float* row(int group, int head) const {
    return sums + (group * heads + head) * width;
  }
  __device__ float2& limits(int group, int head) const {
    auto* const all = reinterpret_cast<float2*>(sums + groups * heads * width);
    return all[group * heads + head];
  }

  /// Merges the groups of the first `count` heads, which are heads `head` on of
  /// the token, and writes a piece's result or the output. All threads of the
  /// block call it, when their sums are stored.
  template <class T>
  __device__ void merge(const AttentionShape& shape, const SinglePieces& pieces,
                        int token, int head, int count, T* out) const {
    __syncthreads();
    for (int h = 0; h < count; ++h) {
      float most = nothingSeenYet, all = 0;
      for (int g = 0; g < groups; ++g)
        most = fmaxf(most, limits(g, h).x);
      for (int g = 0; g < groups; ++g)
        all += limits(g, h).y * powerOf2(limits(g, h).x - most);
      const int64_t at =
          int64_t(pieces.count == 1 ? token : int(blockIdx.z)) * shape.heads +
          head + h;
      const int64_t piece = at * pieces.count + blockIdx.x;
      for (int d = int(threadIdx.x); d < shape.width; d += int(blockDim.x)) {
        float whole = 0;
        for (int g = 0; g < groups; ++g)
          whole += row(g, h)[d] * powerOf2(limits(g, h).x - most);
        if (pieces.count == 1)
          out[at * shape.width + d] = rounded<T>(whole / all);
        else
          pieces.sums[piece * shape.width + d] = whole;
      }
      if (pieces.count > 1 && threadIdx.x == 0) {
        pieces.limits[2 * piece] = most;
        pieces.limits[2 * piece + 1] = all;
      }
    }
  }
};

/// How a block divides its work. A lane has `parts` vectors of n elements of a
/// head, `lanes` vectors apart.
template <int lengthOfVector, int lanesOfKey, int partsOfLane, int headsOfBlock>
struct SingleLayout {
  static constexpr int n = lengthOfVector, lanes = lanesOfKey,
                       parts = partsOfLane, heads = headsOfBlock;
  static constexpr int groups = singleThreads / lanes;
  static constexpr int padded = n * lanes * parts; // the width
  static constexpr int sharedBytes =
      groups * heads * (padded + 2) * int(sizeof(float));
};

/// Block (piece, key head and part of its query heads, single token). Pages are
/// of P.
template <class T, class P, class Layout> class SingleBlock {
  static constexpr int n = Layout::n, parts = Layout::parts,
                       heads = Layout::heads;
  static constexpr int atOnce = 2; // positions of a group of lanes

public:
  __device__ SingleBlock(const PagedStep& step, const P* keys, const P* values,
                         int token)
      : step(step), shape(step.shape), token(token),
        sequence(step.tokens.sequences[token]),
        lane(int(threadIdx.x) % Layout::lanes),
        group(int(threadIdx.x) / Layout::lanes) {
    const int chunks = (shape.group() + heads - 1) / heads;
    keyHead = int(blockIdx.y) / chunks;
    const int skipped = int(blockIdx.y) % chunks * heads;
    head = keyHead * shape.group() + skipped;
    count = min(heads, shape.group() - skipped);
    column = int64_t(keyHead) * shape.width;
    this->keys = keys + column;
    this->values = values + column;
  }

  __device__ void run(const T* q, const SinglePieces& pieces, float* shared,
                      T* out) {
    const int position = step.tokens.positions[token];
    const PieceRange range(step, position, pieces.count);
    if (int(blockIdx.x) >= range.count)
      return;
    const int first = range.first + int(blockIdx.x) * range.length;
    const int end = min(first + range.length, position + 1);
    loadQueries(q);
    for (int base = first; base < end; base += Layout::groups * atOnce)
      attend(base + group, end);
    merge(pieces, shared, out);
  }

private:
  /// The first element of a lane's part of a head.
  __device__ int elementOf(int part) const {
    return (part * Layout::lanes + lane) * n;
  }

  __device__ void loadQueries(const T* q) {
#pragma unroll
    for (int h = 0; h < heads; ++h) {
      maximum[h] = nothingSeenYet;
      total[h] = 0;
#pragma unroll
      for (int p = 0; p < parts; ++p) {
        Vector<T, n> vector = {};
        if (h < count && elementOf(p) < shape.width)
          vector = Vector<T, n>::load(
              q + (int64_t(token) * shape.heads + head + h) * shape.width +
              elementOf(p));
#pragma unroll
        for (int e = 0; e < n; ++e) {
          query[h][p * n + e] = vector[e];
          sum[h][p * n + e] = 0;
        }
      }
    }
  }

  /// Positions `position` and, `groups` positions on, the next ones.
  __device__ __forceinline__ void attend(int position, int end) {
    using Elements = PageElements<P, n>;
    Elements k[atOnce][parts], v[atOnce][parts];
    float keyScale[atOnce], valueScale[atOnce];
#pragma unroll
    for (int i = 0; i < atOnce; ++i) {
      const int own = position + i * Layout::groups;
      const int64_t slot = own < end ? step.slotOf(sequence, own) : 0;
      const int64_t row = slot * step.keyRow();
      if constexpr (isScaled<P>) {
        const int64_t at = slot * shape.keyHeads + keyHead;
        keyScale[i] = own < end ? step.keyScales[at] : 0;
        valueScale[i] = own < end ? step.valueScales[at] : 0;
      }
#pragma unroll
      for (int p = 0; p < parts; ++p) {
        const bool isThere = own < end && elementOf(p) < shape.width;
        k[i][p] =
            isThere ? Elements::load(keys + row + elementOf(p)) : Elements{};
        v[i][p] =
            isThere ? Elements::load(values + row + elementOf(p)) : Elements{};
      }
    }
    const ScoreRule rule(shape);
#pragma unroll
    for (int h = 0; h < heads; ++h) {
      float weights[atOnce], raised = maximum[h];
#pragma unroll
      for (int i = 0; i < atOnce; ++i) {
        float product = 0;
#pragma unroll
        for (int p = 0; p < parts; ++p)
#pragma unroll
          for (int e = 0; e < n; ++e)
            product += query[h][p * n + e] * k[i][p][e];
#pragma unroll
        for (int far = Layout::lanes / 2; far; far /= 2)
          product += __shfl_xor_sync(~0u, product, far);
        if constexpr (isScaled<P>)
          product *= keyScale[i];
        weights[i] = position + i * Layout::groups < end ? rule.score(product)
                                                         : -INFINITY;
        raised = fmaxf(raised, weights[i]);
      }
      const float rescale = powerOf2(maximum[h] - raised);
      maximum[h] = raised;
      total[h] *= rescale;
#pragma unroll
      for (int i = 0; i < atOnce; ++i) {
        weights[i] = powerOf2(weights[i] - raised);
        total[h] += weights[i];
        if constexpr (isScaled<P>)
          weights[i] *= valueScale[i];
      }
#pragma unroll
      for (int p = 0; p < parts; ++p)
#pragma unroll
        for (int e = 0; e < n; ++e) {
          float& to = sum[h][p * n + e];
          to *= rescale;
#pragma unroll
          for (int i = 0; i < atOnce; ++i)
            to += weights[i] * v[i][p][e];
        }
    }
  }

  /// Merges the groups of lanes.
  __device__ void merge(const SinglePieces& pieces, float* shared, T* out) {
    const GroupSums sums{shared, Layout::groups, heads, Layout::padded};
#pragma unroll
    for (int h = 0; h < heads; ++h) {
      if (lane == 0)
        sums.limits(group, h) = {maximum[h], total[h]};
#pragma unroll
      for (int p = 0; p < parts; ++p)
#pragma unroll
        for (int e = 0; e < n; ++e)
          sums.row(group, h)[elementOf(p) + e] = sum[h][p * n + e];
    }
    sums.merge(shape, pieces, token, head, count, out);
  }

  const PagedStep& step;
  const AttentionShape& shape;
  const int token, sequence, lane, group;
  int keyHead, head, count; // the query heads of this block
  int64_t column;
  const P *keys, *values;
  float query[heads][parts * n], sum[heads][parts * n];
  float maximum[heads], total[heads];
};

template <class T, class P, class Layout>
__global__ __launch_bounds__(singleThreads) void attendSingles(
    const __grid_constant__ PagedStep step, SingleTokens singles,
    SinglePieces pieces, const T* q, const P* keys, const P* values, T* out) {
  extern __shared__ __align__(16) float singleShared[];
  startOverlapped();
  const int token = singles.at(int(blockIdx.z), step.tokens);
  if (token >= 0)
    SingleBlock<T, P, Layout>(step, keys, values, token)
        .run(q, pieces, singleShared, out);
}

/// Block (head, single token): merges the pieces in order. A thread has every
/// 64th element.
template <class T>
__global__ void mergeSingles(const __grid_constant__ PagedStep step,
                             SingleTokens singles, SinglePieces pieces,
                             T* out) {
  __shared__ float factors[mostPieces], totals[mostPieces];
  startOverlapped();
  const int token = singles.at(int(blockIdx.y), step.tokens);
  if (token < 0)
    return;
  const int heads = step.shape.heads, width = step.shape.width;
  const int64_t row = int64_t(blockIdx.y) * heads + blockIdx.x;
  const float* const limits = pieces.limits + row * pieces.count * 2;
  const int count =
      PieceRange(step, step.tokens.positions[token], pieces.count).count;
  const int thread = int(threadIdx.x), threads = int(blockDim.x);
  for (int i = thread; i < count; i += threads)
    factors[i] = limits[2 * i];
  __syncthreads();
  float most = nothingSeenYet, total = 0;
  for (int i = 0; i < count; ++i)
    most = fmaxf(most, factors[i]);
  __syncthreads();
  for (int i = thread; i < count; i += threads) {
    factors[i] = powerOf2(factors[i] - most);
    totals[i] = limits[2 * i + 1] * factors[i];
  }
  __syncthreads();
  for (int i = 0; i < count; ++i)
    total += totals[i];
  const float* const sums = pieces.sums + row * pieces.count * width;
  for (int d = thread; d < width; d += threads) {
    float sum = 0;
#pragma unroll 8
    for (int i = 0; i < count; ++i)
      sum += sums[int64_t(i) * width + d] * factors[i];
    out[(int64_t(token) * heads + blockIdx.x) * width + d] =
        rounded<T>(sum / total);
  }
}

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_PAGEDSINGLES_CUH
