// Attention over pages in bf16 or 8 bits for single tokens (decoding) on tensor
// cores. It is bound by the reads of the keys and values.
//
// A thread block processes a token, up to eight query heads that share a key
// head, and one piece of the positions that the token sees (SinglePieces). In
// each round a warp processes 16 positions, and warps do not wait for one
// another before the end:
//
//   scores [16 positions, 8 heads] = keys [16, width] queries [8, width]^T
//   sums [width, 8 heads] += values [16, width]^T weights [16, 8 heads]
//
// A warp copies the keys and values of its next positions into shared memory
// while it computes. A matmul may sum in any order and have its rows in any
// order. The columns are therefore permuted such that each lane needs whole
// vectors of a row, which it widens in registers. Of the keys, lane l has rows
// l / 4 and l / 4 + 8: every fourth vector, starting at l % 4. Of the values,
// it has rows 2 (l % 4), 2 (l % 4) + 1 and the same plus 8: every eighth
// vector, starting at l / 4.
//
// At the end the block merges the softmax of its warps.

#ifndef RECIPERUN_KERNELS_ATTENTION_PAGEDGROUPS_CUH
#define RECIPERUN_KERNELS_ATTENTION_PAGEDGROUPS_CUH

#include "runtime/kernels/attention/PageOperands.cuh"
#include "runtime/kernels/attention/PagedSingles.cuh"

namespace reciperun::kernels::cuda {

template <class P> struct PagedGroupData {
  const Bf16* q;
  const P *keys, *values;
  Bf16* out;
};

/// Transposes an 8 x 8 matrix of two-byte elements in a warp's registers. Lane
/// l holds elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4.
__device__ inline uint32_t transposed(uint32_t matrix) {
  uint32_t result;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;"
      : "=r"(result)
      : "r"(matrix));
  return result;
}

/// The maximum over the lanes that hold a column of an accumulator.
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

/// A warp's positions in shared memory: stages of keys and values, whose rows
/// are `vectors` vectors of `length` elements.
template <int width, class P> struct GroupStages {
  static constexpr int positions = 16;
  static constexpr int stages = 2;
  // Eight lanes have at least one vector of a row of the values.
  static constexpr int length = std::min(vectorLength<P>, width % 128 ? 8 : 16);
  static constexpr int vectorBytes = length * int(sizeof(P));
  static constexpr int words = vectorBytes / 4;
  static constexpr int vectors = width / length;
  static constexpr int ofKey = vectors / 4;   // of a row, of a lane
  static constexpr int ofValue = vectors / 8; // of a row, of a lane
  static constexpr int bytes = stages * 2 * positions * vectors * vectorBytes;

  /// The index of a vector of the keys or the values of a stage. Vectors are
  /// swizzled, so that neighbouring lanes copy to and load from different
  /// banks.
  __device__ static int at(int stage, bool isValue, int row, int vector) {
    const int swizzle = (row & 6) ^ (row & 1) * 4;
    return ((2 * stage + int(isValue)) * positions + row) * vectors +
           (vector ^ swizzle);
  }
};

/// Block (piece, key head and part of its query heads, single token). Pages are
/// of P, `width` is the head's, padded to a multiple of 64.
template <int width, class P> class PagedGroupBlock {
  using Stages = GroupStages<width, P>;
  using Operand = PageOperand<P>;
  static constexpr int positions = Stages::positions, stages = Stages::stages;
  static constexpr int length = Stages::length, words = Stages::words;
  static constexpr int warps = singleThreads / 32;
  // Two more elements a row let a warp store its sums with few bank conflicts.
  static constexpr int sumPitch = width + 2;

public:
  static constexpr int heads = 8;
  /// The number of blocks per multiprocessor that shared memory allows.
  static constexpr int residentBlocks = width > 128 ? 1 : isScaled<P> ? 4 : 3;
  static constexpr int sharedBytes = std::max(
      warps * Stages::bytes, warps* heads*(sumPitch + 2) * int(sizeof(float)));

  __device__ PagedGroupBlock(const PagedStep& step,
                             const PagedGroupData<P>& data, int token,
                             char* shared)
      : step(step), shape(step.shape), data(data), token(token),
        sequence(step.tokens.sequences[token]), lane(int(threadIdx.x) % 32),
        warp(int(threadIdx.x) / 32),
        stagesAt(uint32_t(__cvta_generic_to_shared(shared)) +
                 warp * Stages::bytes) {
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
    nextSlot = findSlot(0);
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
  /// The first position of a warp's round.
  __device__ int beginOf(int round) const {
    return first + (round * warps + warp) * positions;
  }

  /// The slot of position lane % 16 of a round; none for a position beyond the
  /// end of the piece, which may have no page.
  __device__ PagedSlot findSlot(int round) const {
    const int mine = beginOf(round) + lane % positions;
    return mine < end ? step.findSlot(sequence, mine) : PagedSlot::none();
  }

  /// The column of the first element of a lane's vector of a row. `lanes` lanes
  /// share the row.
  __device__ static int columnOf(int vector, int lanes, int lane) {
    return (vector * lanes + lane) * length;
  }

  __device__ void load(uint32_t (&to)[words], int stage, bool isValue, int row,
                       int vector) const {
    const uint32_t from = stagesAt + Stages::at(stage, isValue, row, vector) *
                                         Stages::vectorBytes;
    // Volatile, since loads far ahead of their use would take many registers.
    if constexpr (words == 4)
      asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                   : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                   : "r"(from));
    else
      asm volatile("ld.shared.v2.u32 {%0,%1}, [%2];"
                   : "=r"(to[0]), "=r"(to[1])
                   : "r"(from));
  }

  /// Loads the queries of head lane / 4 in the order of the keys' columns.
  __device__ void loadQueries() {
    constexpr int perVector = length / 4; // matmuls of 16 columns
    const bool isThere = lane / 4 < count;
    const Bf16* const row =
        data.q + (int64_t(token) * shape.heads + head + lane / 4) * shape.width;
    Vector<Bf16, 4> loaded[width / 16];
    float largest = 0;
#pragma unroll
    for (int i = 0; i < width / 16; ++i) {
      const int column =
          columnOf(i / perVector, 4, lane % 4) + i % perVector * 4;
      loaded[i] = isThere && column < shape.width
                      ? Vector<Bf16, 4>::load(row + column)
                      : Vector<Bf16, 4>{};
#pragma unroll
      for (int j = 0; j < 4; ++j)
        largest = fmaxf(largest, fabsf(loaded[i][j]));
    }
    float scale = 1, undone = 1;
    if constexpr (isScaled<P>) {
      // Scales the head's queries by a power of 2 into the range of fp16.
#pragma unroll
      for (int far = 1; far < 4; far *= 2)
        largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, far));
      const int exponent = min(max(__float_as_int(largest) >> 23, 1), 253);
      undone = __int_as_float(exponent << 23);
      scale = __int_as_float((254 - exponent) << 23);
    }
#pragma unroll
    for (int i = 0; i < width / 16; ++i)
#pragma unroll
      for (int j = 0; j < 2; ++j)
        query[i][j] = pack<Operand>(loaded[i][2 * j] * scale,
                                    loaded[i][2 * j + 1] * scale);
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      queryScale[j] = 1;
      if constexpr (isScaled<P>)
        queryScale[j] = __shfl_sync(~0u, undone, (lane % 4 * 2 + j) * 4);
      maximum[j] = nothingSeenYet;
      total[j] = 0;
    }
#pragma unroll
    for (int i = 0; i < width / 16; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)
        sum[i][j] = 0;
  }

  /// Starts to copy the positions of a round, and looks up the slots of the
  /// next round. Positions beyond the end of the piece become zeros.
  __device__ __forceinline__ void fetch(int round, int stage) {
    const int slot = nextSlot.number(step.page);
    nextSlot = findSlot(round + 1);
    if constexpr (isScaled<P>) {
      keyScale[stage] = step.scaleOf(PagedSide::keys, slot, keyHead);
      valueScale[stage] = step.scaleOf(PagedSide::values, slot, keyHead);
    }
    constexpr int ofLane = positions * Stages::vectors / 32;
#pragma unroll
    for (int i = 0; i < ofLane; ++i) {
      const int row = (i * 32 + lane) / Stages::vectors;
      const int vector = (i * 32 + lane) % Stages::vectors;
      const int from = __shfl_sync(~0u, slot, row);
      const bool isThere = from >= 0 && vector * length < shape.width;
      const int64_t at =
          (int64_t(from) * shape.keyHeads + keyHead) * shape.width +
          vector * length;
#pragma unroll
      for (const bool isValue : {false, true})
        copyAsync<Stages::vectorBytes>(
            stagesAt +
                Stages::at(stage, isValue, row, vector) * Stages::vectorBytes,
            (isValue ? data.values : data.keys) + (isThere ? at : 0), isThere);
    }
    commitCopies();
  }

  __device__ __forceinline__ void attend(int round, int stage) {
    const int begin = beginOf(round);
    if (begin >= end)
      return;
    // scores[2 i + j] is of position lane / 4 + 8 i and head 2 (lane % 4) + j.
    float scores[4] = {};
    multiplyKeys(scores, stage);
    // Weights are powers of 2 below the maximum of the scores plus the
    // logarithms of the values' scales, so that fp16 holds them.
    float weights[4];
    const ScoreRule rule(shape);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const bool isThere = begin + lane / 4 + 8 * i < end;
      float keys = 1, values = 0;
      if constexpr (isScaled<P>) {
        keys = __shfl_sync(~0u, keyScale[stage], lane / 4 + 8 * i);
        values = log2f(__shfl_sync(~0u, valueScale[stage], lane / 4 + 8 * i));
      }
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        float& score = scores[2 * i + j];
        score =
            isThere ? rule.score(score * (keys * queryScale[j])) : -INFINITY;
        weights[2 * i + j] = score + values;
      }
    }
    float rescale[2];
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const float raised =
          fmaxf(maximum[j], largestOfColumn(fmaxf(weights[j], weights[2 + j])));
      rescale[j] = powerOf2(maximum[j] - raised);
      maximum[j] = raised;
      total[j] *= rescale[j];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float& weight = weights[2 * i + j];
        weight = powerOf2(weight - raised);
        total[j] += isScaled<P> ? powerOf2(scores[2 * i + j] - raised) : weight;
      }
    }
    if (__any_sync(~0u, rescale[0] != 1 || rescale[1] != 1))
#pragma unroll
      for (int i = 0; i < width / 16; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
          sum[i][j] *= rescale[j % 2];
    addValues(transposed(pack<Operand>(weights[0], weights[1])),
              transposed(pack<Operand>(weights[2], weights[3])), stage);
  }

  __device__ __forceinline__ void multiplyKeys(float (&scores)[4],
                                               int stage) const {
    constexpr int perVector = length / 4;
#pragma unroll
    for (int i = 0; i < Stages::ofKey; ++i) {
      uint32_t upper[words], lower[words];
      load(upper, stage, false, lane / 4, i * 4 + lane % 4);
      load(lower, stage, false, lane / 4 + 8, i * 4 + lane % 4);
#pragma unroll
      for (int j = 0; j < perVector; ++j) {
        const ElementPairs above = neighbours<P>(upper, j);
        const ElementPairs below = neighbours<P>(lower, j);
        const uint32_t left[4] = {above.first, below.first, above.second,
                                  below.second};
        const uint32_t(&right)[2] = query[i * perVector + j];
        multiply<Operand>(scores, left, right[0], right[1]);
      }
    }
  }

  /// Adds the values times the weights of positions 0 to 7 and 8 to 15.
  __device__ __forceinline__ void addValues(uint32_t early, uint32_t late,
                                            int stage) {
    constexpr int perVector = length / 2;
#pragma unroll
    for (int i = 0; i < Stages::ofValue; ++i) {
      uint32_t rows[4][words];
#pragma unroll
      for (int j = 0; j < 4; ++j)
        load(rows[j], stage, true, lane % 4 * 2 + j % 2 + j / 2 * 8,
             i * 8 + lane / 4);
#pragma unroll
      for (int j = 0; j < perVector; ++j) {
        const ElementPairs above = across<P>(rows[0], rows[1], j);
        const ElementPairs below = across<P>(rows[2], rows[3], j);
        const uint32_t left[4] = {above.first, above.second, below.first,
                                  below.second};
        multiply<Operand>(sum[i * perVector + j], left, early, late);
      }
    }
  }

  __device__ void merge(const SinglePieces& pieces, float* shared) {
    constexpr int perVector = length / 2;
    const GroupSums sums{shared, warps, heads, sumPitch};
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int h = lane % 4 * 2 + j;
      const float all = sumOfColumn(total[j]);
      if (lane < 4)
        sums.limits(warp, h) = {maximum[j], all};
      if (h >= count)
        continue;
#pragma unroll
      for (int i = 0; i < width / 16; ++i) {
        const int column =
            columnOf(i / perVector, 8, lane / 4) + i % perVector * 2;
        *reinterpret_cast<float2*>(sums.row(warp, h) +
                                   column) = {sum[i][j], sum[i][2 + j]};
      }
    }
    sums.merge(shape, pieces, token, head, count, data.out);
  }

  const PagedStep& step;
  const AttentionShape& shape;
  const PagedGroupData<P>& data;
  const int token, sequence, lane, warp;
  const uint32_t stagesAt;  // this warp's, in shared memory
  int keyHead, head, count; // the query heads of this block
  int first, end;           // its positions
  PagedSlot nextSlot;       // of the round that is fetched next
  // For pages in 8 bits: the scales of position lane % 16 of each stage.
  float keyScale[stages], valueScale[stages];
  uint32_t query[width / 16][2];
  // Index j is of head 2 (lane % 4) + j. `sum` has the accumulators of the
  // matmuls, with two neighbouring columns (heads) for each row.
  float queryScale[2], maximum[2], total[2], sum[width / 16][4];
};

template <int width, class P>
__global__ __launch_bounds__(
    singleThreads,
    PagedGroupBlock<
        width, P>::residentBlocks) void attendGroups(const __grid_constant__
                                                         PagedStep step,
                                                     SingleTokens singles,
                                                     SinglePieces pieces,
                                                     const __grid_constant__
                                                         PagedGroupData<P>
                                                             data) {
  extern __shared__ __align__(128) char groupShared[];
  startOverlapped();
  const int token = singles.at(int(blockIdx.z), step.tokens);
  if (token >= 0)
    PagedGroupBlock<width, P>(step, data, token, groupShared)
        .run(pieces, reinterpret_cast<float*>(groupShared));
}

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_PAGEDGROUPS_CUH
