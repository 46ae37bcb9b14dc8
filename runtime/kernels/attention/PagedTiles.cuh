// Attention over pages in bf16 for many tokens of a sequence, on tensor cores
// (Dao 2023, "FlashAttention-2", algorithm 1).
//
// A thread block processes a tile of queries of one head and reads the keys and
// values of their sequence through the page table, 64 positions at a time:
//   1. copy the queries, and the keys and values of the first positions, into
//      shared memory;
//   2. wait for the keys; start to copy those of the next positions; scores =
//      queries keys^T, masked where some are not seen;
//   3. wait for the values; start to copy the next ones; update the softmax;
//      out += weights values;
//   4. out / sum.
// A copy has the time of the arithmetic of a whole tile. Its thread has looked
// up the slots a tile earlier. Rows in 8 bits are copied as they are, and each
// thread widens what it has copied when it has arrived.

#ifndef RECIPERUN_KERNELS_ATTENTION_PAGEDTILES_CUH
#define RECIPERUN_KERNELS_ATTENTION_PAGEDTILES_CUH

#include "runtime/kernels/attention/AttentionForwardTiles.cuh"
#include "runtime/kernels/attention/PagedRun.cuh"

namespace reciperun::kernels::cuda {

/// One thread block's work.
template <int width, class P>
class PagedTileBlock : private ForwardTiles<width, isScaled<P> ? 1 : 2> {
  using Tiles = ForwardTiles<width, isScaled<P> ? 1 : 2>;
  using typename Tiles::Scores;

public:
  using Tiles::blockQueries, Tiles::threads;
  static constexpr int sharedBytes =
      Tiles::sharedBytes + (isScaled<P> ? 2 * tileTokens * width : 0);

  __device__ PagedTileBlock(const PagedStep& step, const PagedTileData<P>& data,
                            const QueryRun& run, int head, char* shared)
      : Tiles(shared), stored(shared + Tiles::sharedBytes),
        seen(step, data, run, head), shape(step.shape) {}

  __device__ void run() {
    this->clear();
    fill<blockQueries, threads>(queryTile,
                                TileSource{seen.data.q + seen.queryAt(0),
                                           int64_t(shape.heads) * shape.width,
                                           seen.own.count, shape.width,
                                           seen.data.isAligned});
    int tile = seen.next(seen.first / tileTokens),
        following = seen.next(tile + 1);
    findSlots(tile);
    startCopy(PagedSide::keys, 0);
    commitCopies();
    startCopy(PagedSide::values, 0);
    commitCopies();
    findSlots(following);
    for (int turn = 0; tile < seen.tiles(); turn ^= 1) {
      waitForCopies<1>();
      finishCopy(PagedSide::keys, turn, tile);
      __syncthreads();
      startCopy(PagedSide::keys, turn ^ 1);
      commitCopies();
      Scores scores = {};
      this->score(scores, bufferOf(turn));
      mask(tile, scores);
      waitForCopies<1>();
      finishCopy(PagedSide::values, turn, tile);
      __syncthreads();
      startCopy(PagedSide::values, turn ^ 1);
      commitCopies();
      tile = following;
      following = seen.next(tile + 1);
      findSlots(following);
      this->absorb(scores);
      this->accumulate(scores, bufferOf(turn));
    }
    waitForCopies<0>();
    store();
  }

private:
  using Tiles::lane, Tiles::out, Tiles::outColumns, Tiles::queryTile;
  using Tiles::strips, Tiles::sum;

  static constexpr int rowsAtOnce = threads / 8;
  static constexpr int rows = tileTokens / rowsAtOnce; // of a thread
  static constexpr int wordsOfRow = width / 16;        // of 16 bytes, in 8 bits

  __device__ static int bufferOf(int turn) { return isScaled<P> ? 0 : turn; }

  __device__ Tile<width> tileOf(PagedSide side, int turn) const {
    return side == PagedSide::keys ? this->keyTile(bufferOf(turn))
                                   : this->valueTile(bufferOf(turn));
  }
  __device__ static int rowOfCopy(int i) {
    return int(threadIdx.x) / 8 + i * rowsAtOnce;
  }

  /// Looks up the slots of a tile's rows that this thread copies.
  __device__ __forceinline__ void findSlots(int tile) {
#pragma unroll
    for (int i = 0; i < rows; ++i)
      slots[i] = seen.slotOf(tile, rowOfCopy(i));
  }

  /// Starts to copy the rows of `slots`. Rows without a slot become zeros.
  __device__ __forceinline__ void startCopy(PagedSide side, int turn) {
    if (!seen.data.isAligned)
      return;
    const P* const column = seen.column(side);
    const int chunk = int(threadIdx.x) % 8;
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const P* const source = column + slots[i] * seen.step.keyRow();
      if constexpr (isScaled<P>) {
        scales[int(side)][i] = seen.scaleOf(side, slots[i]);
#pragma unroll
        for (int word = chunk; word < wordsOfRow; word += 8)
          copyWord(storedAt(side, i, word), source + word * 16,
                   slots[i] >= 0 && word * 16 < shape.width, column);
      } else {
        const Tile<width> to = tileOf(side, turn);
#pragma unroll
        for (int piece = 0; piece < width / 64; ++piece) {
          const int at = chunk * chunkSize + piece * 64;
          copyWord(to.at(rowOfCopy(i), piece * 8 + chunk), source + at,
                   slots[i] >= 0 && at < shape.width, column);
        }
      }
    }
  }

  __device__ __forceinline__ static void
  copyWord(void* to, const P* from, bool isRead, const P* anything) {
    copyChunk(uint32_t(__cvta_generic_to_shared(to)),
              reinterpret_cast<const Bf16*>(isRead ? from : anything), isRead);
  }

  /// Completes a tile whose copies have arrived: widens rows in 8 bits. Fills
  /// the whole tile if rows are not aligned.
  __device__ __forceinline__ void finishCopy(PagedSide side, int turn,
                                             int tile) {
    if (!seen.data.isAligned) {
      fillSlowly(tileOf(side, turn), seen.step,
                 {seen.column(side), seen.scales(side), seen.own.sequence, tile,
                  seen.first, seen.end});
      return;
    }
    if constexpr (isScaled<P>) {
      const Tile<width> to = tileOf(side, turn);
#pragma unroll
      for (int i = 0; i < rows; ++i)
#pragma unroll
        for (int word = int(threadIdx.x) % 8; word < wordsOfRow; word += 8) {
          const auto words = Vector<uint32_t, 4>::load(
              reinterpret_cast<const uint32_t*>(storedAt(side, i, word)));
#pragma unroll
          for (int half = 0; half < 2; ++half)
            widenWords<P>(words.elements + 2 * half, scales[int(side)][i],
                          to.at(rowOfCopy(i), 2 * word + half));
        }
    }
  }

  /// The address of a word of this thread's row in the copied rows in 8 bits.
  __device__ P* storedAt(PagedSide side, int row, int word) const {
    return reinterpret_cast<P*>(
        stored + (int(side) * tileTokens + rowOfCopy(row)) * width + word * 16);
  }

  /// The source of fillSlowly: the head's column of the pages, and its scales.
  struct PageColumn {
    const P* column;
    const float* scales;
    int sequence, tile, first, end;
  };

  /// Fills a tile element by element. It has no `this`: the accumulators of an
  /// object whose address a call takes would be in memory.
  __device__ __noinline__ static void
  fillSlowly(Tile<width> to, const PagedStep& step, const PageColumn& from) {
    for (int i = int(threadIdx.x); i < tileTokens * width; i += threads) {
      const int row = i / width, at = i % width;
      const int position = from.tile * tileTokens + row;
      Bf16 value = __float2bfloat16(0.0f);
      if (position >= from.first && position < from.end &&
          at < step.shape.width) {
        const int64_t slot = step.slotOf(from.sequence, position);
        const P number = from.column[slot * step.keyRow() + at];
        if constexpr (isScaled<P>)
          value = __float2bfloat16_rn(float(number) *
                                      from.scales[slot * step.shape.keyHeads]);
        else
          value = number;
      }
      to.at(row, at / chunkSize)[at % chunkSize] = value;
    }
  }

  /// Turns products into scores in units of log 2, -infinity where a query does
  /// not see a position.
  __device__ __forceinline__ void mask(int tile, Scores& scores) const {
    Tiles::asScores(shape, scores);
    if (!seen.isWhole(tile))
      this->hide([&](int row) { return seen.seenBy(row, tile); }, scores);
  }

  __device__ __forceinline__ void store() const {
#pragma unroll
    for (int s = 0; s < strips; ++s)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float all = sumOfRow(sum[s][half]);
        const int row = this->rowOf(s, half);
        if (row >= seen.own.count)
          continue;
        const float factor = 1.0f / all;
        Bf16* const to = seen.data.out + seen.queryAt(row);
#pragma unroll
        for (int n = 0; n < outColumns; ++n)
          storePair(to, n * 8 + lane % 4 * 2, shape.width, seen.data.isAligned,
                    out[s][n][2 * half] * factor,
                    out[s][n][2 * half + 1] * factor);
      }
  }

  char* const stored; // keys and values in 8 bits
  const PagedRun<tileTokens, PagedTileData<P>> seen;
  const AttentionShape& shape;
  // The slots of this thread's rows of the tile that is copied next or is in
  // flight.
  int slots[rows];
  float scales[2][rows];
};

/// Block (head, tile), the last tile of a run first: it sees the most
/// positions. Blocks of heads that share keys run at the same time.
template <int width, class P>
__global__ __launch_bounds__(128) void attendTiles(
    const __grid_constant__ PagedStep step,
    const __grid_constant__ PagedTileData<P> data,
    const __grid_constant__ PagedDivision division) {
  extern __shared__ __align__(128) char shared[];
  startOverlapped();
  const int tile = division.counts[0] - 1 - int(blockIdx.y);
  if (tile >= 0)
    PagedTileBlock<width, P>(step, data, division.tiles[tile], int(blockIdx.x),
                             shared)
        .run();
}

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_PAGEDTILES_CUH
