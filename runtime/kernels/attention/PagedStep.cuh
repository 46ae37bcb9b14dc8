// A step of attention over pages on a GPU: its sizes, the pages, and the
// division of the tokens between the two kernels of AttentionPaged.cu.

#ifndef RECIPERUN_KERNELS_ATTENTION_PAGEDSTEP_CUH
#define RECIPERUN_KERNELS_ATTENTION_PAGEDSTEP_CUH

#include "runtime/kernels/attention/AttentionShape.cuh"
#include "runtime/kernels/attention/PageElements.cuh"
#include "runtime/kernels/attention/Rotation.cuh"
#include "runtime/kernels/common/OverlappedLaunch.cuh"
#include "runtime/kernels/common/StepTokens.cuh"
#include "runtime/ops/AttentionOps.h"
#include "runtime/sizes/AttentionWorkspace.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>

namespace reciperun::kernels::cuda {

enum class PagedSide { keys, values };

/// The page and the row in it that store a position. findSlot() only issues the
/// load of the page; the thread waits for it when number() uses the value.
struct PagedSlot {
  int page, row; // of the page; -1: none

  __device__ static PagedSlot none() { return {0, -1}; }
  /// The row's index over all pages of `rows` rows each, or -1.
  __device__ int number(int rows) const {
    return row < 0 ? -1 : page * rows + row;
  }
};

/// The sizes of a call. `shape` has no tokens.
struct PagedStep {
  AttentionShape shape;
  StepTokens tokens;
  const int32_t* table; // [sequences, perSequence]
  int perSequence, page, pageCount;
  // For pages in 8 bits, [pages, page, key heads].
  float *keyScales, *valueScales;

  __host__ __device__ int64_t keyRow() const {
    return int64_t(shape.keyHeads) * shape.width;
  }

  __device__ const float* scales(PagedSide side) const {
    return side == PagedSide::keys ? keyScales : valueScales;
  }
  /// The scale of a slot's row; 0 for slot -1.
  __device__ float scaleOf(PagedSide side, int slot, int keyHead) const {
    return slot >= 0 ? scales(side)[int64_t(slot) * shape.keyHeads + keyHead]
                     : 0.0f;
  }

  /// The first position that the token at a position sees.
  __device__ int firstSeen(int position) const {
    const MaskRule& rule = shape.rule;
    int64_t first = 0;
    if (rule.window)
      first = max(first, position + 1 - rule.window);
    if (rule.chunk)
      first = max(first, position / rule.chunk * rule.chunk);
    return int(first);
  }

  /// The slot of a position.
  __device__ PagedSlot findSlot(int sequence, int position) const {
    const auto number = unsigned(position) / unsigned(page);
    return {table[int64_t(sequence) * perSequence + number],
            position - int(number) * page};
  }
  __device__ int64_t slotOf(int sequence, int position) const {
    const PagedSlot found = findSlot(sequence, position);
    return int64_t(found.page) * page + found.row;
  }

  /// The offset of a position's row in the pages.
  __device__ int64_t rowOf(int sequence, int position) const {
    return slotOf(sequence, position) * keyRow();
  }

  /// Whether a page of a sequence exists.
  __device__ bool hasPage(int sequence, int number) const {
    return number < perSequence &&
           unsigned(table[int64_t(sequence) * perSequence + number]) <
               unsigned(pageCount);
  }

  /// Traps the GPU if the token at a position sees a position that has no page;
  /// the CPU kernel returns an error for it. All threads of a block call it.
  __device__ void check(int sequence, int position) const {
    const int first = firstSeen(position) / page, last = position / page;
    bool areThere = true;
    for (int i = first + int(threadIdx.x); i <= last; i += int(blockDim.x))
      areThere &= hasPage(sequence, i);
    if (areThere)
      return;
    printf("attention_paged: the token at position %d of sequence %d sees "
           "positions without a page\n",
           position, sequence);
    __trap();
  }
};

/// The step of an `attention_paged`.
inline PagedStep pagedStepOf(const plan::Op& op,
                             std::span<const device::Tensor> in,
                             std::span<const device::Tensor> out) {
  PagedStep step{};
  step.shape.batch = 1;
  step.shape.heads = int(in[0].shape[2]);
  step.shape.keyHeads = int(in[1].shape[2]);
  step.shape.width = int(in[0].shape[3]);
  const ops::AttentionPagedAttributes attributes(op.attributes);
  const double scale = attributes.scale;
  step.shape.scale =
      float(scale != 0 ? scale : 1 / std::sqrt(double(step.shape.width)));
  step.shape.softcap = float(attributes.softcap);
  step.shape.rule = {true, attributes.window, attributes.chunk};
  step.tokens = {in[3].as<int32_t>(), in[4].as<int32_t>(),
                 int(in[3].elements()), int(in[5].shape[0])};
  step.table = in[5].as<int32_t>();
  step.perSequence = int(in[5].shape[1]);
  step.page = int(out[1].shape[1]);
  step.pageCount = int(out[1].shape[0]);
  step.keyScales = out[3].as<float>();
  step.valueScales = out[4].as<float>();
  return step;
}

/// The threads of a block of writePages. Each half writes one side.
inline constexpr int writingThreads = 256;

/// Writes a token's row of keys or values, of all key heads, to a slot, n
/// elements at a time. If the pages are in 8 bits, quantizes the row and also
/// writes the dequantized row to `fresh`, unless that is null. The threads of
/// half a block call it.
template <int n, class T, class P>
__device__ void writeRow(const AttentionShape& shape, const T* from, P* pages,
                         float* scales, int64_t slot, T* fresh) {
  constexpr int threads = writingThreads / 2;
  const int thread = int(threadIdx.x) % threads;
  const int heads = shape.keyHeads, width = shape.width;
  P* const to = pages + slot * heads * width;
  if constexpr (isScaled<P>) {
    const int lanes = storingLanes<n>(width);
    for (int first = 0; first < heads; first += threads / lanes) {
      const int head = first + thread / lanes;
      const bool isThere = head < heads;
      const int at = isThere ? head * width : 0;
      const float scale = storeRow<n>(lanes, from + at, isThere ? width : 0,
                                      to + at, fresh ? fresh + at : nullptr);
      if (isThere && thread % lanes == 0)
        scales[slot * heads + head] = scale;
    }
  } else {
    for (int i = thread * n; i < heads * width; i += threads * n)
      Vector<T, n>::load(from + i).store(to + i);
  }
}

/// Consecutive tokens of a sequence whose queries a block processes.
struct QueryRun {
  int token, count;
  int sequence, position; // of the first token
  int before;             // tokens of the run in this step before it
};

/// The division of a step. Runs of at least `shortestTiled` tokens are cut into
/// tiles, other tokens are single.
struct PagedDivision {
  int* counts;     // of `tiles`, `freshTiles` and `singles`
  QueryRun* tiles; // [mostTiles]
  /// [mostTiles]: the tiles that see only fresh rows. Null: they are among
  /// `tiles`.
  QueryRun* freshTiles;
  int* singles;     // [mostSingles]
  TokenRange* runs; // [sequences], room for divideTokens
  int tileQueries;

  __device__ QueryRun* list(bool isFresh) const {
    return isFresh ? freshTiles : tiles;
  }

  static constexpr int shortestTiled = int(sizes::shortestTiledRun);

  /// Whether the step is divided. Steps with few tokens are not.
  __host__ __device__ bool isThere() const { return counts; }

  static int64_t mostTiles(int64_t tokens, int64_t sequences,
                           int64_t tileQueries) {
    return std::min(tokens / shortestTiled, tokens / tileQueries + sequences);
  }
  static int64_t mostSingles(int64_t tokens, int64_t sequences) {
    return std::min(tokens, sequences * (shortestTiled - 1));
  }
};

/// Divides the tokens. Called by one block. The order of the tiles and singles
/// depends on timing, but the results of the op do not.
static __device__ void divideTokens(const PagedStep& step,
                                    const PagedDivision& division) {
  const StepTokens& tokens = step.tokens;
  __shared__ int counts[3];
  if (threadIdx.x < 3)
    counts[threadIdx.x] = 0;
  for (int i = int(threadIdx.x); i < tokens.mostSequences; i += int(blockDim.x))
    division.runs[i] = {0, 0};
  __syncthreads();
  for (int i = int(threadIdx.x); i < tokens.count; i += int(blockDim.x)) {
    if (tokens.isFirst(i))
      division.runs[tokens.sequences[i]].begin = i;
    if (tokens.isLast(i))
      division.runs[tokens.sequences[i]].end = i + 1;
  }
  __syncthreads();
  for (int i = int(threadIdx.x); i < tokens.mostSequences;
       i += int(blockDim.x)) {
    const TokenRange run = division.runs[i];
    if (run.count() < PagedDivision::shortestTiled) {
      const int at = atomicAdd(&counts[2], run.count());
      for (int j = 0; j < run.count(); ++j)
        division.singles[at + j] = run.begin + j;
      continue;
    }
    const int queries = division.tileQueries;
    const int position = tokens.positions[run.begin];
    const int tiles = (run.count() + queries - 1) / queries;
    // The last tiles of a run may see only the run.
    int others = tiles;
    while (division.freshTiles && others > 0 &&
           step.firstSeen(position + (others - 1) * queries) >= position)
      --others;
    QueryRun* to[2] = {division.tiles + atomicAdd(&counts[0], others),
                       division.freshTiles +
                           atomicAdd(&counts[1], tiles - others) - others};
    for (int j = 0; j < tiles; ++j)
      to[j >= others][j] = {run.begin + j * queries,
                            min(queries, run.count() - j * queries), i,
                            position + j * queries, j * queries};
  }
  __syncthreads();
  if (threadIdx.x < 3)
    division.counts[threadIdx.x] = counts[threadIdx.x];
}

/// The keys and values of the step's tokens in bf16, [tokens, key heads,
/// width], dequantized from the values in the pages. Tiles of queries read them
/// instead of the pages in 8 bits, which each tile would have to widen again.
struct FreshRows {
  __nv_bfloat16 *keys, *values;

  __host__ __device__ bool areThere() const { return keys; }
  __device__ __nv_bfloat16* of(PagedSide side) const {
    return side == PagedSide::keys ? keys : values;
  }
};

/// The rows that writePages reads and writes.
template <class T, class P> struct WrittenRows {
  const T *q, *k, *v; // q: if it is rotated
  P *keys, *values;
  T* out; // and the rotated q
  FreshRows fresh;

  /// A token's fresh row, or null.
  __device__ T* freshRow(PagedSide side, int token, int64_t elements) const {
    if constexpr (isScaled<P>)
      return fresh.areThere() ? fresh.of(side) + token * elements : nullptr;
    else
      return nullptr;
  }
};

/// Rotates a token's rows of `heads` heads, n pairs at a time. All threads of a
/// block call it. `angles` are the pairs' cosines and sines.
template <int n, class T>
__device__ void rotateHeads(const Rotation& by, const float2* angles, int heads,
                            const T* from, T* to) {
  const int groups = by.half / n;
  for (int i = int(threadIdx.x); i < heads * groups; i += int(blockDim.x)) {
    const int first = i % groups * n;
    const int at = i / groups * by.width + by.offsetOf(first);
    float cosines[n], sines[n];
#pragma unroll
    for (int e = 0; e < n; ++e) {
      cosines[e] = angles[first + e].x;
      sines[e] = angles[first + e].y;
    }
    const Vector<T, n> x[2] = {
        Vector<T, n>::load(from + at),
        Vector<T, n>::load(from + at + by.template distance<n>())};
    Vector<T, n> y[2];
    turnPairs(by, cosines, sines, x, y);
    y[0].store(to + at);
    y[1].store(to + at + by.template distance<n>());
  }
  const int rest = by.width - 2 * by.half;
  for (int i = int(threadIdx.x); i < heads * rest; i += int(blockDim.x)) {
    const int at = i / rest * by.width + 2 * by.half + i % rest;
    to[at] = from[at];
  }
}

/// Writes the tokens' keys and values into the pages, or zeros into the output
/// of padding, a token a block, and checks the pages that the tokens see. If
/// the step is divided, block 0 divides the tokens instead. With `rotates`,
/// queries and keys are rotated first; shared memory then holds a row of keys.
template <int n, bool rotates, class T, class P>
__global__ void __launch_bounds__(writingThreads)
    writePages(const __grid_constant__ PagedStep step,
               const __grid_constant__ WrittenRows<T, P> rows,
               const __grid_constant__ PagedDivision division,
               const __grid_constant__ Rotation rotation) {
  extern __shared__ float4 rotatedKeys[];
  __shared__ float2 angles[rotates ? Rotation::mostPairs : 1];
  startOverlapped();
  if (division.isThere() && blockIdx.x == 0) {
    divideTokens(step, division);
    return;
  }
  const int token = int(blockIdx.x) - int(division.isThere());
  const int position = step.tokens.positions[token];
  const int64_t queries = int64_t(step.shape.heads) * step.shape.width;
  T* const out = rows.out + token * queries;
  if (position < 0) {
    for (int64_t i = threadIdx.x; i < queries; i += blockDim.x)
      out[i] = T(0.0f);
    return;
  }
  step.tokens.check(token);
  const int sequence = step.tokens.sequences[token];
  step.check(sequence, position);
  const T* k = rows.k + token * step.keyRow();
  const T* const v = rows.v + token * step.keyRow();
  if constexpr (rotates) {
    for (int i = int(threadIdx.x); i < rotation.half; i += writingThreads)
      rotation.angleOf(i, float(position), angles[i].x, angles[i].y);
    __syncthreads();
    rotateHeads<n>(rotation, angles, step.shape.keyHeads, k,
                   reinterpret_cast<T*>(rotatedKeys));
    rotateHeads<n>(rotation, angles, step.shape.heads, rows.q + token * queries,
                   out);
    k = reinterpret_cast<const T*>(rotatedKeys);
  }
  __syncthreads(); // the token's own page exists, and the keys are rotated
  const int64_t slot = step.slotOf(sequence, position);
  if (threadIdx.x < writingThreads / 2)
    writeRow<n>(step.shape, k, rows.keys, step.keyScales, slot,
                rows.freshRow(PagedSide::keys, token, step.keyRow()));
  else
    writeRow<n>(step.shape, v, rows.values, step.valueScales, slot,
                rows.freshRow(PagedSide::values, token, step.keyRow()));
}

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_PAGEDSTEP_CUH
