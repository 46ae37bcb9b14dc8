// Attention of a serving step's tokens to all tokens of their sequences, whose
// keys and values are in pages.
//
// 1. Check the step, rotate queries and keys if the op has `rope`, and write
// the
//    new keys and values into the pages. Rotated queries are in the output
//    until the result of their tile overwrites them.
// 2. Cut each sequence's tokens into tiles. For each tile and key head, all
//    query heads of which share a read of the keys, and for each piece of 512
//    positions: run a softmax over blocks of 64 positions (Milakov & Gimelshein
//    2018): copy keys and values out of their pages, compute scores (positions
//    by queries), raise the maximum, rescale the sum and the output.
// 3. Merge the pieces of a tile in order. If tiles and key heads are too few
//    for the threads, the pieces are work items of their own.
//
// Blocks and pieces begin at fixed positions, so a token's result depends
// neither on the other tokens of the step, nor on the size or order of pages,
// nor on the threads.

#include "runtime/kernels/attention/PagedKeys.h"

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Exponential.h"
#include "runtime/kernels/common/HyperbolicTangent.h"
#include "runtime/kernels/common/Kernels.h"

#include <cmath>
#include <limits>
#include <utility>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::lanes;
using device::Strided;

constexpr int64_t pagedBlock = 64;  // positions
constexpr int64_t pagedPiece = 512; // positions
constexpr int64_t pagedRows = 64;   // queries of a tile, of all its heads
constexpr int64_t mostPieceBytes = 4 << 20; // of results of pieces

/// Consecutive tokens of a run.
struct PagedTile {
  int64_t token, count;
  int64_t sequence, position; // of the first
  int64_t begin;              // the first position that a token of it sees

  int64_t end() const { return position + count; }
  int64_t firstPiece() const { return begin / pagedPiece; }
  int64_t pieces() const { return (end() - 1) / pagedPiece - firstPiece() + 1; }
};

/// The softmax of a tile's queries over some positions: the maximum of the
/// scores, the sum of exp(score - maximum), and the values weighted by these.
/// A maximum that has seen nothing is finite, so that no difference is NaN.
template <class M> struct PagedSums {
  M *maximum, *sum; // [rows]
  M* out;           // [rows, padded]

  static int64_t elements(int64_t rows, int64_t padded) {
    return rows * (padded + 2);
  }
  static PagedSums at(M* data, int64_t rows) {
    return {data, data + rows, data + 2 * rows};
  }

  void clear(int64_t rows, int64_t padded) const {
    std::fill_n(maximum, rows, std::numeric_limits<M>::lowest() / 2);
    std::fill_n(sum, rows, M(0));
    std::fill_n(out, rows * padded, M(0));
  }

  /// Adds the softmax over later positions.
  void merge(const PagedSums& later, int64_t rows, int64_t padded) const {
    for (int64_t i = 0; i < rows; ++i) {
      const M raised = std::max(maximum[i], later.maximum[i]);
      const M own = exponential(maximum[i] - raised);
      const M other = exponential(later.maximum[i] - raised);
      maximum[i] = raised;
      sum[i] = sum[i] * own + later.sum[i] * other;
      M* to = out + i * padded;
      const M* from = later.out + i * padded;
#pragma omp simd
      for (int64_t d = 0; d < padded; ++d)
        to[d] = to[d] * own + from[d] * other;
    }
  }
};

template <class T> class Paged {
  using M = Math<T>;

public:
  Paged(const KernelArgs& args, const std::vector<StepRun>& runs)
      : args(args), runs(runs), sizes(args), keys(args),
        queries(ops::AttentionPagedAttributes(args.op.attributes).rope
                    ? args.outputs[0].as<T>()
                    : args.inputs[0].as<T>()),
        padded((sizes.width + lanes<M> - 1) / lanes<M> * lanes<M>),
        tileTokens(std::max<int64_t>(1, pagedRows / sizes.group())),
        threads(device::threadsFor(args.context.threads(), scoreSteps())) {}

  void run() {
    keys.write(args, runs);
    forPadding(runs, sizes.tokens, [&](int64_t begin, int64_t end) {
      const int64_t row = sizes.heads * sizes.width;
      T* out = args.outputs[0].as<T>();
      std::fill(out + begin * row, out + end * row, T());
    });
    const std::vector<PagedTile> tiles = cut();
    const int64_t items = int64_t(tiles.size()) * sizes.keyHeads;
    if (items < 4 * threads && runPieces(tiles))
      return;
    device::parallelItems(args.context.threads(), items,
                          [&](int64_t item, int thread) {
                            wholeTile(tiles[size_t(item / sizes.keyHeads)],
                                      item % sizes.keyHeads, thread);
                          });
  }

private:
  std::vector<PagedTile> cut() const {
    std::vector<PagedTile> tiles;
    for (const StepRun& run : runs)
      for (int64_t i = 0; i < run.count; i += tileTokens)
        tiles.push_back({run.begin + i, std::min(tileTokens, run.count - i),
                         run.sequence, run.position + i,
                         sizes.firstSeen(run.position + i)});
    return tiles;
  }

  /// The multiply-adds of the scores.
  int64_t scoreSteps() const {
    int64_t pairs = 0;
    for (const StepRun& run : runs)
      pairs += run.count *
               (run.position + run.count - sizes.firstSeen(run.position));
    return pairs * sizes.heads * sizes.width;
  }

  int64_t rowsOf(const PagedTile& tile) const {
    return tile.count * sizes.group();
  }
  /// Queries are the columns of scores, in whole vectors.
  int64_t columnsOf(const PagedTile& tile) const {
    return (rowsOf(tile) + lanes<M> - 1) / lanes<M> * lanes<M>;
  }

  /// A thread's buffers.
  struct Room {
    M* queries;       // [width, columns]
    M *keys, *values; // [block, width], [block, padded]
    M* scores;        // [block, columns]
    M* rescale;       // [columns]
    PagedSums<M> piece, whole;
  };
  Room roomOf(const PagedTile& tile, int thread) const {
    const int64_t columns = columnsOf(tile);
    const int64_t sums = PagedSums<M>::elements(columns, padded);
    M* next = args.context.template scratch<M>(
        thread, size_t(columns * (padded + pagedBlock + lanes<M>)+2 *
                           pagedBlock * padded +
                       2 * sums));
    auto take = [&](int64_t count) {
      return std::exchange(next, next + count);
    };
    Room room;
    room.queries = take(columns * padded);
    room.keys = take(pagedBlock * padded);
    room.values = take(pagedBlock * padded);
    room.scores = take(pagedBlock * columns);
    room.rescale = take(columns);
    room.piece = PagedSums<M>::at(take(sums), columns);
    room.whole = PagedSums<M>::at(take(sums), columns);
    return room;
  }

  void wholeTile(const PagedTile& tile, int64_t keyHead, int thread) const {
    const Room room = roomOf(tile, thread);
    loadQueries(tile, keyHead, room);
    room.whole.clear(columnsOf(tile), padded);
    for (int64_t i = 0; i < tile.pieces(); ++i) {
      runPiece(tile, keyHead, tile.firstPiece() + i, room, room.piece);
      room.whole.merge(room.piece, columnsOf(tile), padded);
    }
    store(tile, keyHead, room.whole);
  }

  /// Runs all pieces in parallel and merges them. Returns false if their
  /// results need too much memory, or if there is nothing to divide.
  bool runPieces(const std::vector<PagedTile>& tiles) const {
    struct Item {
      const PagedTile* tile;
      int64_t keyHead, piece;
    };
    std::vector<Item> items;
    for (const PagedTile& tile : tiles)
      for (int64_t head = 0; head < sizes.keyHeads; ++head)
        for (int64_t i = 0; i < tile.pieces(); ++i)
          items.push_back({&tile, head, i});
    int64_t columns = 0;
    for (const PagedTile& tile : tiles)
      columns = std::max(columns, columnsOf(tile));
    const int64_t stride = PagedSums<M>::elements(columns, padded);
    const auto count = int64_t(items.size());
    if (count == int64_t(tiles.size()) * sizes.keyHeads ||
        count * stride * int64_t(sizeof(M)) > mostPieceBytes)
      return false;
    std::vector<M> results(size_t(count * stride));
    auto resultOf = [&](int64_t item) {
      return PagedSums<M>::at(results.data() + item * stride,
                              columnsOf(*items[size_t(item)].tile));
    };
    device::parallelItems(threads, count, [&](int64_t i, int thread) {
      const Item& item = items[size_t(i)];
      const Room room = roomOf(*item.tile, thread);
      loadQueries(*item.tile, item.keyHead, room);
      runPiece(*item.tile, item.keyHead, item.tile->firstPiece() + item.piece,
               room, resultOf(i));
    });
    for (int64_t first = 0; first < count;) {
      const Item& item = items[size_t(first)];
      const Room room = roomOf(*item.tile, 0);
      room.whole.clear(columnsOf(*item.tile), padded);
      for (int64_t i = 0; i < item.tile->pieces(); ++i)
        room.whole.merge(resultOf(first + i), columnsOf(*item.tile), padded);
      store(*item.tile, item.keyHead, room.whole);
      first += item.tile->pieces();
    }
    return true;
  }

  /// Copies a tile's queries, transposed. Row i of a tile is head i % group of
  /// its token i / group.
  void loadQueries(const PagedTile& tile, int64_t keyHead,
                   const Room& room) const {
    const int64_t columns = columnsOf(tile);
    std::fill_n(room.queries, sizes.width * columns, M(0));
    for (int64_t i = 0; i < rowsOf(tile); ++i) {
      const T* q = queries + headAt(tile, keyHead, i);
      for (int64_t d = 0; d < sizes.width; ++d)
        room.queries[d * columns + i] = M(q[d]);
    }
  }

  /// The offset of row i of a tile in q and o.
  int64_t headAt(const PagedTile& tile, int64_t keyHead, int64_t i) const {
    const int64_t group = sizes.group();
    return ((tile.token + i / group) * sizes.heads + keyHead * group +
            i % group) *
           sizes.width;
  }

  void runPiece(const PagedTile& tile, int64_t keyHead, int64_t piece,
                const Room& room, const PagedSums<M>& sums) const {
    const int64_t columns = columnsOf(tile);
    sums.clear(columns, padded);
    const int64_t end = std::min(tile.end(), (piece + 1) * pagedPiece);
    for (int64_t first = piece * pagedPiece; first < end; first += pagedBlock) {
      const int64_t count = std::min(pagedBlock, end - first);
      if (first + count <= tile.begin)
        continue;
      const int64_t hidden = std::max<int64_t>(0, tile.begin - first);
      keys.load({tile.sequence, keyHead, first, count, hidden}, room.keys,
                sizes.width, room.values, padded);
      std::fill_n(room.scores, count * columns, M(0));
      device::tileMatmul(count, columns, sizes.width,
                         Strided<M>{room.keys, sizes.width, 1}, room.queries,
                         columns, room.scores, columns);
      scaleAndHide(tile, first, count, room.scores);
      absorb(count, columns, room, sums);
      device::tileMatmul(rowsOf(tile), padded, count,
                         Strided<M>{room.scores, 1, columns}, room.values,
                         padded, sums.out, padded);
    }
  }

  /// Turns products into scores, -infinity where a query does not see a
  /// position.
  void scaleAndHide(const PagedTile& tile, int64_t first, int64_t count,
                    M* scores) const {
    const int64_t columns = columnsOf(tile);
    const M scale = M(sizes.scale), softcap = M(sizes.softcap);
    if (softcap == 0) {
#pragma omp simd
      for (int64_t i = 0; i < count * columns; ++i)
        scores[i] *= scale;
    } else {
#pragma omp simd
      for (int64_t i = 0; i < count * columns; ++i)
        scores[i] = softcap * hyperbolicTangent(scale * scores[i] / softcap);
    }
    for (int64_t i = 0; i < rowsOf(tile); ++i) {
      const int64_t position = tile.position + i / sizes.group();
      const int64_t seen = sizes.firstSeen(position) - first;
      for (int64_t k = 0; k < std::min(count, seen); ++k)
        scores[k * columns + i] = -std::numeric_limits<M>::infinity();
      for (int64_t k = std::max<int64_t>(0, position + 1 - first); k < count;
           ++k)
        scores[k * columns + i] = -std::numeric_limits<M>::infinity();
    }
  }

  /// Turns scores into exp(score - maximum), and rescales sums and outputs.
  void absorb(int64_t count, int64_t columns, const Room& room,
              const PagedSums<M>& sums) const {
    M* const raised = room.rescale;
    std::copy_n(sums.maximum, columns, raised);
    for (int64_t k = 0; k < count; ++k) {
      const M* row = room.scores + k * columns;
#pragma omp simd
      for (int64_t i = 0; i < columns; ++i)
        raised[i] = row[i] > raised[i] ? row[i] : raised[i];
    }
#pragma omp simd
    for (int64_t i = 0; i < columns; ++i) {
      const M highest = raised[i];
      room.rescale[i] = exponential(sums.maximum[i] - highest);
      sums.maximum[i] = highest;
      sums.sum[i] *= room.rescale[i];
    }
    for (int64_t k = 0; k < count; ++k) {
      M* row = room.scores + k * columns;
#pragma omp simd
      for (int64_t i = 0; i < columns; ++i) {
        row[i] = exponential(row[i] - sums.maximum[i]);
        sums.sum[i] += row[i];
      }
    }
    for (int64_t i = 0; i < columns; ++i) {
      M* row = sums.out + i * padded;
      const M factor = room.rescale[i];
#pragma omp simd
      for (int64_t d = 0; d < padded; ++d)
        row[d] *= factor;
    }
  }

  void store(const PagedTile& tile, int64_t keyHead,
             const PagedSums<M>& sums) const {
    for (int64_t i = 0; i < rowsOf(tile); ++i) {
      T* to = args.outputs[0].as<T>() + headAt(tile, keyHead, i);
      const M* row = sums.out + i * padded;
      const M sum = sums.sum[i];
#pragma omp simd
      for (int64_t d = 0; d < sizes.width; ++d)
        to[d] = T(row[d] / sum);
    }
  }

  const KernelArgs& args;
  const std::vector<StepRun>& runs;
  const PagedSizes sizes;
  const PagedKeys<T> keys;
  const T* const queries;   // rotated if the op does it
  const int64_t padded;     // the width in whole vectors
  const int64_t tileTokens; // the most tokens of a tile
  const int threads;
};

} // namespace

Status attentionPagedKernel(const KernelArgs& args) {
  const auto runs =
      stepRuns(args.inputs[3], args.inputs[4], args.inputs[5].shape[0]);
  if (!runs)
    return runs.status().withContext("op `" + args.op.name + "`");
  RECIPERUN_TRY(
      checkPages(args, *runs).withContext("op `" + args.op.name + "`"));
  return withType(args, args.inputs[0].type,
                  [&]<class T>(Type<T>) { Paged<T>(args, *runs).run(); });
}

} // namespace reciperun::kernels
