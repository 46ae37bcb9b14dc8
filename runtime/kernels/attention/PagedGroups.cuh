// Attention over pages in bf16 for single tokens, on tensor cores: decoding.
// The time is that of reading the keys and values.
//
// A thread block processes a token, up to eight query heads that share a key
// head, and one piece of the positions that the token sees (SinglePieces). Its
// warps take 16 positions each in turn and never wait for one another before
// the end. A warp copies the keys and values of its next positions while it
// computes:
//
//   scores [16 positions, 8 heads] = keys [16, width] queries [8, width]^T
//   sums [width, 8 heads] += values [16, width]^T weights [16, 8 heads]
//
// At the end the block merges the softmax of its warps.

#ifndef RECIPERUN_KERNELS_ATTENTION_PAGEDGROUPS_CUH
#define RECIPERUN_KERNELS_ATTENTION_PAGEDGROUPS_CUH

#include "runtime/kernels/attention/PagedSingles.cuh"
#include "runtime/kernels/common/MatrixFragments.cuh"

namespace reciperun::kernels::cuda {

template <class P> struct PagedGroupData {
  const Bf16* q;
  const P *keys, *values;
  Bf16* out;
};

/// The transpose of an 8 x 8 matrix of two-byte elements in a warp's registers,
/// of which lane l holds elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4.
__device__ inline uint32_t transposed(uint32_t matrix) {
  uint32_t result;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;"
      : "=r"(result)
      : "r"(matrix));
  return result;
}

/// The largest value of the lanes that hold a column of an accumulator.
__device__ inline float largestOfColumn(float x) {
#pragma unroll
  for (int far = 4; far < 32; far *= 2)
    x = fmaxf(x, __shfl_xor_sync(~0u, x, far));
  return x;
}
__device__ inline float sumOfColumn(float x) {
#pragma unroll
  for (int far = 4; far < 32; far *= 2)
    x += __shfl_xor_sync(~0u, x, far);
  return x;
}

/// A warp's positions in shared memory: two stages of rows as they are in the
/// pages, and for rows in 8 bits a widened copy of one stage.
template <int width, class P> struct GroupStages {
  static constexpr int positions = 16, stages = 2;
  static constexpr int rowBytes = width * int(sizeof(P));
  static constexpr int sideBytes = positions * rowBytes;
  static constexpr int widenedBytes =
      isScaled<P> ? 2 * positions * Tile<width>::rowBytes : 0;
  static constexpr int bytes = stages * 2 * sideBytes + widenedBytes;
};

/// Block (piece, key head and part of its query heads, single token). Pages are
/// of P, `width` is the head's, padded to a multiple of 64.
template <int width, class P> class PagedGroupBlock {
  using Stages = GroupStages<width, P>;
  static constexpr int positions = Stages::positions, stages = Stages::stages;
  static constexpr int warps = singleThreads / 32;

public:
  static constexpr int heads = 8;
  static constexpr int sharedBytes = std::max(
      warps * Stages::bytes, warps* heads*(width + 2) * int(sizeof(float)));

  __device__ PagedGroupBlock(const PagedStep& step,
                             const PagedGroupData<P>& data, int token,
                             char* shared)
      : step(step), shape(step.shape), data(data), token(token),
        sequence(step.tokens.sequences[token]), lane(int(threadIdx.x) % 32),
        warp(int(threadIdx.x) / 32), own(shared + warp * Stages::bytes) {
    const int chunks = (shape.group() + heads - 1) / heads;
    keyHead = int(blockIdx.y) / chunks;
    const int skipped = int(blockIdx.y) % chunks * heads;
    head = keyHead * shape.group() + skipped;
    count = min(heads, shape.group() - skipped);
  }

  __device__ void run(const SinglePieces& pieces, float* shared) {
    const int position = step.tokens.positions[token];
    const PieceRange range(step, position, pieces.count);
    if (int(blockIdx.x) >= range.count)
      return;
    first = range.first + int(blockIdx.x) * range.length;
    end = min(first + range.length, position + 1);
#pragma unroll
    for (int stage = 0; stage < stages; ++stage)
      fetch(stage, stage);
    loadQueries();
    for (int round = 0; beginOf(round) < end; round += stages)
#pragma unroll
      for (int stage = 0; stage < stages; ++stage) {
        waitForCopies<stages - 1>();
        __syncwarp();
        attend(round + stage, stage);
        __syncwarp();
        fetch(round + stage + stages, stage);
      }
    waitForCopies<0>();
    __syncthreads();
    merge(pieces, shared);
  }

private:
  static constexpr int vectors = Stages::rowBytes / 16; // of a row
  static constexpr int ofLane = positions * vectors / 32;

  /// The first position of a warp's round.
  __device__ int beginOf(int round) const {
    return first + (round * warps + warp) * positions;
  }

  /// The rows of a stage, [positions, width] of keys or values.
  __device__ char* rows(int stage, bool isValue) const {
    return own + (2 * stage + int(isValue)) * Stages::sideBytes;
  }
  __device__ Tile<width> tile(int stage, bool isValue) const {
    char* const at = isScaled<P>
                         ? own + 2 * stages * Stages::sideBytes +
                               int(isValue) * positions * Tile<width>::rowBytes
                         : rows(stage, isValue);
    return {reinterpret_cast<Bf16*>(at)};
  }

  __device__ void loadQueries() {
    const bool isThere = lane / 4 < count;
    const Bf16* const row =
        data.q + (int64_t(token) * shape.heads + head + lane / 4) * shape.width;
#pragma unroll
    for (int i = 0; i < width / 8; ++i) {
      const int column = i * 8 + lane % 4 * 2;
      query[i / 2][i % 2] =
          isThere && column < shape.width
              ? *reinterpret_cast<const uint32_t*>(row + column)
              : 0;
    }
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      maximum[j] = nothingSeenYet;
      total[j] = 0;
    }
#pragma unroll
    for (int i = 0; i < width / 16; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)
        sum[i][j] = 0;
  }

  /// Starts to copy the positions of a round. Those that the piece lacks become
  /// zeros: they may have no page.
  __device__ __forceinline__ void fetch(int round, int stage) {
    const int begin = beginOf(round);
    const int mine = begin + lane % positions;
    const int64_t slot = mine < end ? step.slotOf(sequence, mine) : 0;
    if constexpr (isScaled<P>) {
      const int64_t at = slot * shape.keyHeads + keyHead;
      keyScale[stage] = mine < end ? step.keyScales[at] : 0;
      valueScale[stage] = mine < end ? step.valueScales[at] : 0;
    }
    const int64_t offset = slot * step.keyRow() + keyHead * shape.width;
#pragma unroll
    for (int i = 0; i < ofLane; ++i) {
      const int row = (i * 32 + lane) / vectors;
      const int vector = (i * 32 + lane) % vectors;
      const int column = vector * (16 / int(sizeof(P)));
      const bool isThere = begin + row < end && column < shape.width;
      const int64_t at = __shfl_sync(~0u, offset, row) + column;
#pragma unroll
      for (const bool isValue : {false, true}) {
        const P* const from = isValue ? data.values : data.keys;
        copyChunk(addressOf(stage, isValue, row, vector),
                  reinterpret_cast<const Bf16*>(from + (isThere ? at : 0)),
                  isThere);
      }
    }
    commitCopies();
  }

  /// Where a vector of a row is copied to.
  __device__ uint32_t addressOf(int stage, bool isValue, int row,
                                int vector) const {
    const void* to =
        rows(stage, isValue) + row * Stages::rowBytes + vector * 16;
    if constexpr (!isScaled<P>)
      to = tile(stage, isValue).at(row, vector);
    return uint32_t(__cvta_generic_to_shared(to));
  }

  /// Widens a stage's rows. A lane reads what it has copied.
  __device__ __forceinline__ void widen(int stage) const {
    constexpr int n = chunkSize;
#pragma unroll
    for (const bool isValue : {false, true})
#pragma unroll
      for (int i = 0; i < ofLane; ++i) {
        const int row = (i * 32 + lane) / vectors;
        const int vector = (i * 32 + lane) % vectors;
        const P* const from = reinterpret_cast<const P*>(
            rows(stage, isValue) + row * Stages::rowBytes + vector * 16);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const auto stored = PageElements<P, n>::load(from + half * n);
          float values[n];
#pragma unroll
          for (int j = 0; j < n; ++j)
            values[j] = stored[j];
          rounded<Bf16>(values).store(
              tile(stage, isValue).at(row, 2 * vector + half));
        }
      }
    __syncwarp();
  }

  /// The scale of position lane / 4 + 8 i of a stage; 1 for rows in bf16.
  __device__ float scaleOf(const float (&scales)[stages], int stage,
                           int i) const {
    if constexpr (isScaled<P>)
      return __shfl_sync(~0u, scales[stage], lane / 4 + 8 * i);
    else
      return 1;
  }

  __device__ __forceinline__ void attend(int round, int stage) {
    const int begin = beginOf(round);
    if (begin >= end)
      return;
    if constexpr (isScaled<P>)
      widen(stage);
    // [2 i + j]: position lane / 4 + 8 i, head 2 (lane % 4) + j.
    float scores[4] = {};
    const Operands<width> keys(tile(stage, false), lane);
#pragma unroll
    for (int i = 0; i < width / 16; ++i) {
      uint32_t left[4];
      keys.left(left, 0, i * 16);
      multiply(scores, left, query[i][0], query[i][1]);
    }
    const ScoreRule rule(shape);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const bool isThere = begin + lane / 4 + 8 * i < end;
      const float scale = scaleOf(keyScale, stage, i);
#pragma unroll
      for (int j = 0; j < 2; ++j)
        scores[2 * i + j] =
            isThere ? rule.score(scores[2 * i + j] * scale) : -INFINITY;
    }
    float rescale[2];
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const float raised =
          fmaxf(maximum[j], largestOfColumn(fmaxf(scores[j], scores[2 + j])));
      rescale[j] = powerOf2(maximum[j] - raised);
      maximum[j] = raised;
      total[j] *= rescale[j];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        scores[2 * i + j] = powerOf2(scores[2 * i + j] - raised);
        total[j] += scores[2 * i + j];
      }
    }
    uint32_t weights[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float scale = scaleOf(valueScale, stage, i);
      weights[i] =
          transposed(pack(scores[2 * i] * scale, scores[2 * i + 1] * scale));
    }
    const Operands<width> values(tile(stage, true), lane);
#pragma unroll
    for (int i = 0; i < width / 16; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j)
        sum[i][j] *= rescale[j % 2];
      uint32_t left[4];
      values.leftAcross(left, i * 16, 0);
      multiply(sum[i], left, weights[0], weights[1]);
    }
  }

  __device__ void merge(const SinglePieces& pieces, float* shared) {
    const GroupSums sums{shared, warps, heads, width};
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int h = lane % 4 * 2 + j;
      const float all = sumOfColumn(total[j]);
      if (lane < 4)
        sums.limits(warp, h) = {maximum[j], all};
#pragma unroll
      for (int i = 0; i < width / 16; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          sums.row(warp, h)[i * 16 + half * 8 + lane / 4] =
              sum[i][2 * half + j];
    }
    sums.merge(shape, pieces, token, head, count, data.out);
  }

  const PagedStep& step;
  const AttentionShape& shape;
  const PagedGroupData<P>& data;
  const int token, sequence, lane, warp;
  char* const own;          // this warp's stages
  int keyHead, head, count; // the query heads of this block
  int first, end;           // its positions
  // Of position lane % 16 of each stage, for rows in 8 bits.
  float keyScale[stages], valueScale[stages];
  uint32_t query[width / 16][2];
  // Index j is head 2 (lane % 4) + j. sum[i] has rows 16 i + lane / 4 and
  // 16 i + lane / 4 + 8 of an accumulator.
  float maximum[2], total[2], sum[width / 16][4];
};

template <int width, class P>
__global__ __launch_bounds__(singleThreads) void attendGroups(
    const __grid_constant__ PagedStep step, SingleTokens singles,
    SinglePieces pieces, const __grid_constant__ PagedGroupData<P> data) {
  extern __shared__ __align__(128) char groupShared[];
  const int token = singles.at(int(blockIdx.z), step.tokens);
  if (token >= 0)
    PagedGroupBlock<width, P>(step, data, token, groupShared)
        .run(pieces, reinterpret_cast<float*>(groupShared));
}

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_PAGEDGROUPS_CUH
