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

struct PagedTileData {
  const Bf16 *q, *keys, *values;
  Bf16* out;
  bool isAligned; // all rows of heads, to 16 bytes
};

/// One thread block's work.
template <int width> class PagedTileBlock : private ForwardTiles<width> {
  using Tiles = ForwardTiles<width>;
  using typename Tiles::Scores;

public:
  using Tiles::blockQueries, Tiles::sharedBytes, Tiles::threads;

  __device__ PagedTileBlock(const PagedStep& step, const PagedTileData& data,
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
      fillSide(valueTile, data.values, tile);
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

  /// Starts to copy 64 positions. Those that no query sees become zeros: they
  /// may have no page.
  __device__ __forceinline__ void fillSide(Tile<width> to, const Bf16* from,
                                           int tile) const {
    const Bf16* const column =
        from + int64_t(head / shape.group()) * shape.width;
    if (!data.isAligned) {
      fillSlowly(to, column, tile);
      return;
    }
    constexpr int atOnce = threads / 8; // rows
    const int chunk = int(threadIdx.x) % 8;
#pragma unroll
    for (int i = 0; i < tileTokens / atOnce; ++i) {
      const int row = int(threadIdx.x) / 8 + i * atOnce;
      const int position = tile * tileTokens + row;
      const bool isSeen = position >= first && position < end;
      const Bf16* const source =
          isSeen ? column + step.rowOf(own.sequence, position) : column;
#pragma unroll
      for (int piece = 0; piece < width / 64; ++piece) {
        const int at = chunk * chunkSize + piece * 64;
        const bool isInside = isSeen && at < shape.width;
        copyChunk(
            uint32_t(__cvta_generic_to_shared(to.at(row, piece * 8 + chunk))),
            isInside ? source + at : column, isInside);
      }
    }
  }

  __device__ __noinline__ void fillSlowly(Tile<width> to, const Bf16* column,
                                          int tile) const {
    for (int i = int(threadIdx.x); i < tileTokens * width; i += threads) {
      const int row = i / width, at = i % width;
      const int position = tile * tileTokens + row;
      const bool isInside =
          position >= first && position < end && at < shape.width;
      to.at(row, at / chunkSize)[at % chunkSize] =
          isInside ? column[step.rowOf(own.sequence, position) + at]
                   : __float2bfloat16(0.0f);
    }
  }

  __device__ __forceinline__ void fillKeys(int tile) const {
    fillSide(keyTile, data.keys, tile);
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
  const PagedTileData& data;
  const QueryRun own;
  const int head, first, end; // positions [first, end) are seen
};

/// Block (tile, head).
template <int width>
__global__ __launch_bounds__(128) void attendTiles(
    const __grid_constant__ PagedStep step,
    const __grid_constant__ PagedTileData data,
    const __grid_constant__ PagedDivision division) {
  extern __shared__ __align__(128) char shared[];
  if (int(blockIdx.x) < division.counts[0])
    PagedTileBlock<width>(step, data, division.tiles[blockIdx.x], shared).run();
}

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_PAGEDTILES_CUH
