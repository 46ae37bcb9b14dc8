// Attention of queries to keys, tile by tile, without the s x s matrix (Dao et
// al. 2022, "FlashAttention", algorithm 1).
//
// For each sequence, query head and tile of 64 queries:
//   1. load the queries, transposed;
//   2. for each tile of keys that the queries see: scores (keys by queries, so
//      that a softmax runs down the columns and vectorises across queries);
//      hide what is not seen; raise the running maximum; rescale the sum and
//      the output so far; add exp(score - maximum) times the values;
//   3. divide by the sum; keep lse = maximum + log(sum) for the backward.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/AttentionOperands.h"
#include "runtime/kernels/Exponential.h"
#include "runtime/kernels/Kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::Strided;
using device::Tensor;

/// The running softmax of a tile of queries.
template <class M> struct Running {
  // Finite, so that the difference of two is never NaN.
  static constexpr M lowest = std::numeric_limits<M>::lowest() / 2;
  alignas(64) M maximum[tileQueries];
  alignas(64) M sum[tileQueries];
  alignas(64) M rescale[tileQueries];

  Running() {
    std::fill_n(maximum, tileQueries, lowest);
    std::fill_n(sum, tileQueries, M(0));
  }

  /// Turns products [keys, tileQueries] into exp(scale product - maximum) and
  /// sets `rescale` to what earlier sums and outputs shrink by.
  void absorb(int64_t keys, M scale, M* scores) {
    M raised[tileQueries];
    std::copy_n(maximum, tileQueries, raised);
    for (int64_t k = 0; k < keys; ++k) {
      M* row = scores + k * tileQueries;
#pragma omp simd
      for (int64_t q = 0; q < tileQueries; ++q) {
        row[q] *= scale;
        raised[q] = row[q] > raised[q] ? row[q] : raised[q];
      }
    }
#pragma omp simd
    for (int64_t q = 0; q < tileQueries; ++q) {
      rescale[q] = exponential(maximum[q] - raised[q]);
      maximum[q] = raised[q];
      sum[q] *= rescale[q];
    }
    for (int64_t k = 0; k < keys; ++k) {
      M* row = scores + k * tileQueries;
#pragma omp simd
      for (int64_t q = 0; q < tileQueries; ++q) {
        row[q] = exponential(row[q] - maximum[q]);
        sum[q] += row[q];
      }
    }
  }
};

template <class T> class Forward {
  using M = Math<T>;
  using Operands = AttentionOperands<T>;
  using Word = typename Operands::Word;

public:
  explicit Forward(const KernelArgs& args)
      : args(args), sizes(args.op, args.inputs[0], args.inputs[1]),
        padded(sizes.paddedWidth<M>()) {}

  void run() {
    const int64_t tiles = sizes.queryTiles();
    device::parallelItems(
        args.context.threads(), sizes.batch * sizes.heads * tiles,
        [&](int64_t item, int thread) {
          // The last tiles, which see the most keys, first.
          const int64_t tile = tiles - 1 - item / (sizes.batch * sizes.heads);
          const int64_t head = item % sizes.heads;
          const int64_t sequence = item / sizes.heads % sizes.batch;
          queryTile(sequence, head, tile, thread);
        });
  }

private:
  /// A thread's tiles; a word is never larger than M.
  struct Scratch {
    Word* queries;       // across
    Word *keys, *values; // left, right
    Word* weights;       // scores as an operand
    M *scores, *out;     // [keys, tileQueries], [tileQueries, padded]
  };
  Scratch scratchOf(int thread) const {
    const int64_t tile = tileQueries * padded;
    const int64_t square = tileKeys * tileQueries;
    M* at = args.context.scratch<M>(thread, size_t(4 * tile + 2 * square));
    Word* words = reinterpret_cast<Word*>(at + tile + square);
    return {words, words + tile, words + 2 * tile, words + 3 * tile, at + tile,
            at};
  }

  void queryTile(int64_t sequence, int64_t head, int64_t tile, int thread) {
    const Scratch s = scratchOf(thread);
    const TileRange queries = tileRange(tile, tileQueries, sizes.sequence);
    const Visibility visibility(segmentsOf(sequence), sizes.causal);
    Operands::across(
        rowOf<T>(args.inputs[0], sizes.heads, sequence, head, queries.begin),
        sizes.heads * sizes.width, queries.count, sizes.width, s.queries);
    std::fill_n(s.out, tileQueries * padded, M(0));
    Running<M> running;
    for (int64_t j = 0; j < sizes.keyTiles(); ++j) {
      const TileRange keys = tileRange(j, tileKeys, sizes.sequence);
      const Visible seen = visibility.between(queries, keys);
      if (seen == Visible::none)
        continue;
      score(sequence, head, keys, s);
      if (seen == Visible::some)
        visibility.hide(queries, keys, -std::numeric_limits<M>::infinity(),
                        s.scores);
      running.absorb(keys.count, M(sizes.scale), s.scores);
      accumulate(sequence, head, queries, keys, running, s);
    }
    store(sequence, head, queries, visibility, running, s);
  }

  /// scores [keys, queries] = keys times queries.
  void score(int64_t sequence, int64_t head, TileRange keys, const Scratch& s) {
    Operands::left(rowOf<T>(args.inputs[1], sizes.keyHeads, sequence,
                            head / sizes.group(), keys.begin),
                   sizes.keyHeads * sizes.width, keys.count, sizes.width,
                   s.keys);
    std::fill_n(s.scores, keys.count * tileQueries, M(0));
    Operands::product(keys.count, tileQueries, sizes.width,
                      Strided<Word>{s.keys, Operands::words(sizes.width), 1},
                      s.queries, tileQueries, s.scores, tileQueries);
  }

  /// out = out * rescale + weights times values.
  void accumulate(int64_t sequence, int64_t head, TileRange queries,
                  TileRange keys, const Running<M>& running, const Scratch& s) {
    Operands::right(rowOf<T>(args.inputs[2], sizes.keyHeads, sequence,
                             head / sizes.group(), keys.begin),
                    sizes.keyHeads * sizes.width, keys.count, sizes.width,
                    padded, s.values);
    for (int64_t i = 0; i < queries.count; ++i) {
      M* row = s.out + i * padded;
      const M factor = running.rescale[i];
#pragma omp simd
      for (int64_t d = 0; d < padded; ++d)
        row[d] *= factor;
    }
    Operands::product(queries.count, padded, keys.count,
                      Operands::overKeys(s.scores, keys.count, s.weights),
                      s.values, padded, s.out, padded);
  }

  void store(int64_t sequence, int64_t head, TileRange queries,
             const Visibility& visibility, const Running<M>& running,
             const Scratch& s) {
    M* lse = args.outputs[1].as<M>() +
             (sequence * sizes.heads + head) * sizes.sequence + queries.begin;
    for (int64_t i = 0; i < queries.count; ++i) {
      T* out = rowOf<T>(args.outputs[0], sizes.heads, sequence, head,
                        queries.begin + i);
      if (visibility.isPadding(queries.begin + i)) {
        std::fill_n(out, sizes.width, T());
        lse[i] = 0;
        continue;
      }
      const M factor = M(1) / running.sum[i];
      const M* row = s.out + i * padded;
#pragma omp simd
      for (int64_t d = 0; d < sizes.width; ++d)
        out[d] = T(row[d] * factor);
      lse[i] = running.maximum[i] + std::log(running.sum[i]);
    }
  }

  const int32_t* segmentsOf(int64_t sequence) const {
    return args.inputs[3].as<int32_t>() + sequence * sizes.sequence;
  }

  /// The head's row of token `token` in a tensor [b, s, heads, width].
  template <class E>
  E* rowOf(const Tensor& tensor, int64_t heads, int64_t sequence, int64_t head,
           int64_t token) const {
    return tensor.as<E>() +
           ((sequence * sizes.sequence + token) * heads + head) * sizes.width;
  }

  const KernelArgs& args;
  const AttentionSizes sizes;
  const int64_t padded;
};

} // namespace

template <>
Status kernel<plan::OpKind::Attention>(const device::KernelArgs& args) {
  return withType(args, args.inputs[0].type,
                  [&]<class T>(Type<T>) { Forward<T>(args).run(); });
}

} // namespace reciperun::kernels
