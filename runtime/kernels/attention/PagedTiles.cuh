// Attention over pages in bf16 for many tokens of a sequence, on tensor cores
// (Dao 2023, "FlashAttention-2", algorithm 1).
//
// A thread block processes a tile of queries of one head and reads the keys and
// values of their sequence through the page table, 64 positions at a time. The
// steps are those of AttentionForwardBf16.cuh.

#ifndef RECIPERUN_KERNELS_ATTENTION_PAGEDTILES_CUH
#define RECIPERUN_KERNELS_ATTENTION_PAGEDTILES_CUH

#include "runtime/kernels/attention/AttentionForwardTiles.cuh"
#include "runtime/kernels/attention/PagedStep.cuh"

namespace reciperun::kernels::cuda {

/// Pages are of P.
template <class P> struct PagedTileData {
  const Bf16* q;
  const P *keys, *values;
  Bf16* out;
  bool isAligned; // all rows of heads, to 16 bytes
};

/// One thread block's work.
template <int width, class P>
class PagedTileBlock : private ForwardTiles<width> {
  using Tiles = ForwardTiles<width>;
  using typename Tiles::Scores;

public:
  using Tiles::blockQueries, Tiles::sharedBytes, Tiles::threads;

  __device__ PagedTileBlock(const PagedStep& step, const PagedTileData<P>& data,
                            const QueryRun& run, char* shared)
      : Tiles(shared), step(step), shape(step.shape), data(data), own(run),
        head(int(blockIdx.y)), first(step.firstSeen(run.position)),
        end(run.position + run.count) {}

  __device__ void run() {
    this->clear();
    fill<blockQueries, threads>(
        queryTile,
        TileSource{data.q + queryAt(0), int64_t(shape.heads) * shape.width,
                   own.count, shape.width, data.isAligned});
    int tile = next(first / tileTokens);
    fillKeys(tile);
    commitCopies();
    while (tile < tiles()) {
      waitForCopies<0>();
      __syncthreads();
      fillSide(valueTile, {data.values, step.valueScales}, tile);
      commitCopies();
      Scores scores = {};
      this->score(scores);
      mask(tile, scores);
      const int following = next(tile + 1);
      waitForCopies<0>();
      __syncthreads();
      if (following < tiles())
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
  using Tiles::keyTile, Tiles::keyTokens, Tiles::lane, Tiles::out;
  using Tiles::outColumns, Tiles::queryTile, Tiles::strips, Tiles::sum;
  using Tiles::valueTile;

  __device__ int tiles() const { return (end - 1) / tileTokens + 1; }

  __device__ Seen seen(int tile) const {
    return seenOf({0, 0, own.position, end - 1},
                  {0, 0, tile * tileTokens, tile * tileTokens + tileTokens - 1},
                  shape.rule);
  }

  __device__ __forceinline__ int next(int from) const {
    return nextTile(from, tiles(),
                    [&](int tile) { return seen(tile) != Seen::none; });
  }

  __device__ int64_t queryAt(int row) const {
    return (int64_t(own.token + row) * shape.heads + head) * shape.width;
  }

  /// The pages of the keys or of the values.
  struct Side {
    const P* rows;
    const float* scales; // of rows in 8 bits
  };

  /// Starts to copy 64 positions. Those that no query sees become zeros: they
  /// may have no page.
  __device__ __forceinline__ void fillSide(Tile<width> to, const Side& from,
                                           int tile) const {
    const int keyHead = head / shape.group();
    if (!data.isAligned) {
      fillSlowly(to, from, keyHead, tile);
      return;
    }
    const P* const column = from.rows + int64_t(keyHead) * shape.width;
    constexpr int atOnce = threads / 8; // rows
    const int chunk = int(threadIdx.x) % 8;
#pragma unroll
    for (int i = 0; i < tileTokens / atOnce; ++i) {
      const int row = int(threadIdx.x) / 8 + i * atOnce;
      const int position = tile * tileTokens + row;
      const bool isSeen = position >= first && position < end;
      const int64_t slot = isSeen ? step.slotOf(own.sequence, position) : 0;
      const P* const source = column + slot * step.keyRow();
      float scale = 1;
      if constexpr (isScaled<P>)
        scale = isSeen ? from.scales[slot * shape.keyHeads + keyHead] : 0;
#pragma unroll
      for (int piece = 0; piece < width / 64; ++piece) {
        const int at = chunk * chunkSize + piece * 64;
        const bool isInside = isSeen && at < shape.width;
        Bf16* const place = to.at(row, piece * 8 + chunk);
        if constexpr (isScaled<P>)
          fillWidened(place, source + at, scale, isInside);
        else
          copyChunk(uint32_t(__cvta_generic_to_shared(place)),
                    isInside ? source + at : column, isInside);
      }
    }
  }

  /// Writes a chunk of a row in 8 bits, or zeros.
  __device__ __forceinline__ void
  fillWidened(Bf16* to, const P* from, float scale, bool isInside) const {
    float values[chunkSize] = {};
    if (isInside) {
      const auto elements = PageElements<P, chunkSize>::load(from);
#pragma unroll
      for (int i = 0; i < chunkSize; ++i)
        values[i] = elements[i] * scale;
    }
    rounded<Bf16>(values).store(to);
  }

  __device__ __noinline__ void fillSlowly(Tile<width> to, const Side& from,
                                          int keyHead, int tile) const {
    for (int i = int(threadIdx.x); i < tileTokens * width; i += threads) {
      const int row = i / width, at = i % width;
      const int position = tile * tileTokens + row;
      Bf16 value = __float2bfloat16(0.0f);
      if (position >= first && position < end && at < shape.width) {
        const int64_t head =
            step.slotOf(own.sequence, position) * shape.keyHeads + keyHead;
        const P stored = from.rows[head * shape.width + at];
        if constexpr (isScaled<P>)
          value = __float2bfloat16_rn(float(stored) * from.scales[head]);
        else
          value = stored;
      }
      to.at(row, at / chunkSize)[at % chunkSize] = value;
    }
  }

  __device__ __forceinline__ void fillKeys(int tile) const {
    fillSide(keyTile, {data.keys, step.keyScales}, tile);
    if (threadIdx.x < tileTokens) {
      const int position = tile * tileTokens + int(threadIdx.x);
      keyTokens[threadIdx.x] = {position < end ? 0 : -1,
                                shape.rule.first(position),
                                shape.rule.last(position)};
    }
  }

  /// Turns products into scores in units of log 2, -infinity where a query does
  /// not see a position.
  __device__ __forceinline__ void mask(int tile, Scores& scores) const {
    Tiles::asScores(shape, scores);
    if (seen(tile) != Seen::all)
      this->hide(
          [&](int row) {
            return QueryToken{row < own.count ? 0 : -1, own.position + row};
          },
          scores);
  }

  __device__ __forceinline__ void store() const {
#pragma unroll
    for (int s = 0; s < strips; ++s)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float all = sumOfRow(sum[s][half]);
        const int row = this->rowOf(s, half);
        if (row >= own.count)
          continue;
        const float factor = 1.0f / all;
        Bf16* const to = data.out + queryAt(row);
#pragma unroll
        for (int n = 0; n < outColumns; ++n)
          storePair(to, n * 8 + lane % 4 * 2, shape.width, data.isAligned,
                    out[s][n][2 * half] * factor,
                    out[s][n][2 * half + 1] * factor);
      }
  }

  const PagedStep& step;
  const AttentionShape& shape;
  const PagedTileData<P>& data;
  const QueryRun own;
  const int head, first, end; // positions [first, end) are seen
};

/// Block (tile, head).
template <int width, class P>
__global__ __launch_bounds__(128) void attendTiles(
    const __grid_constant__ PagedStep step,
    const __grid_constant__ PagedTileData<P> data,
    const __grid_constant__ PagedDivision division) {
  extern __shared__ __align__(128) char shared[];
  if (int(blockIdx.x) < division.counts[0])
    PagedTileBlock<width, P>(step, data, division.tiles[blockIdx.x], shared)
        .run();
}

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_PAGEDTILES_CUH
