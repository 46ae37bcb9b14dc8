// Attention of queries to keys, tile by tile, without the s x s matrix (Dao et
// al. 2022, "FlashAttention", algorithm 1).
//
// For each sequence, query head and tile of 64 queries:
//   1. load the queries, transposed;
//   2. for each tile of keys that the queries see: compute scores (keys by
//      queries, so that the softmax runs down the columns and vectorises across
//      queries); mask hidden pairs; raise the running maximum; rescale the sum
//      and the output so far; add exp(score - maximum) times the values;
//   3. divide by the sum; keep lse = maximum + log(sum) for the backward.
// A block that resumes from earlier ones starts with maximum = lse, sum = 1 and
// the output so far.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/attention/AttentionOperands.h"
#include "runtime/kernels/common/Exponential.h"
#include "runtime/kernels/common/HyperbolicTangent.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/ops/AttentionOps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::Strided;
using device::Tensor;

/// The lse of a query that has seen no key in the blocks so far. Finite, so
/// that the difference of two is never NaN.
template <class M>
constexpr M nothingSeen = std::numeric_limits<M>::lowest() / 2;

/// The running softmax of a tile of queries.
template <class M> struct Running {
  alignas(64) M maximum[tileQueries];
  alignas(64) M sum[tileQueries];
  alignas(64) M rescale[tileQueries];

  Running() {
    std::fill_n(maximum, tileQueries, nothingSeen<M>);
    std::fill_n(sum, tileQueries, M(0));
  }

  /// Turns products [keys, tileQueries] into exp(scale product - maximum) and
  /// sets `rescale` to the factor for earlier sums and outputs.
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

/// Attention to one block of keys. The output is T for a single block, and M if
/// other blocks may follow.
template <class T, class Out> class Forward {
  using M = Math<T>;
  using Operands = AttentionOperands<T>;
  using Word = typename Operands::Word;

public:
  Forward(const KernelArgs& call, const AttentionQueries& queries,
          const AttentionKeys& keys, const Tensor& out, const Tensor& lse)
      : context(call.context), sizes(call.op, queries.q, keys.k),
        padded(sizes.paddedWidth<M>()), queries(queries), keys(keys),
        out(out.as<Out>()), lse(lse.as<M>()) {}

  /// Starts from the output and lse of earlier blocks.
  void resume() { isResumed = true; }
  /// Sets the lse of queries that see no key.
  void markUnseen(M mark) { unseen = mark; }

  void run() {
    const int64_t tiles = sizes.queryTiles();
    device::parallelItems(context.threads(), sizes.batch * sizes.heads * tiles,
                          [&](int64_t item, int thread) {
                            // The last tiles first: they see the most keys.
                            const int64_t tile =
                                tiles - 1 - item / (sizes.batch * sizes.heads);
                            const int64_t head = item % sizes.heads;
                            const int64_t sequence =
                                item / sizes.heads % sizes.batch;
                            queryTile(sequence, head, tile, thread);
                          });
  }

private:
  /// A thread's tiles. A word is never larger than M.
  struct Scratch {
    Word* queries;       // across
    Word *keys, *values; // left, right
    Word* weights;       // scores as an operand
    M *scores, *out;     // [keys, tileQueries], [tileQueries, padded]
  };
  Scratch scratchOf(int thread) const {
    const int64_t tile = tileQueries * padded;
    const int64_t square = tileKeys * tileQueries;
    M* at = context.scratch<M>(thread, size_t(4 * tile + 2 * square));
    Word* words = reinterpret_cast<Word*>(at + tile + square);
    return {words, words + tile, words + 2 * tile, words + 3 * tile, at + tile,
            at};
  }

  void queryTile(int64_t sequence, int64_t head, int64_t tile, int thread) {
    const Scratch s = scratchOf(thread);
    const TileRange range = tileRange(tile, tileQueries, sizes.queries);
    const Visibility visibility(
        tokensOf(queries.segments, queries.places, sequence * sizes.queries),
        range, tokensOf(keys.segments, keys.places, sequence * sizes.keys),
        sizes.mask);
    Operands::across(queryRow(queries.q.as<T>(), sequence, head, range.begin),
                     sizes.heads * sizes.width, range.count, sizes.width,
                     s.queries);
    Running<M> running;
    std::fill_n(s.out, tileQueries * padded, M(0));
    if constexpr (std::is_same_v<Out, M>)
      if (isResumed)
        load(sequence, head, range, running, s);
    for (int64_t j = 0; j < sizes.keyTiles(); ++j) {
      const TileRange seen = tileRange(j, tileKeys, sizes.keys);
      const Visible visible = visibility.of(seen);
      if (visible == Visible::none)
        continue;
      score(sequence, head, seen, s);
      if (sizes.softcap)
        cap(seen, s.scores);
      if (visible == Visible::some)
        visibility.hide(seen, -std::numeric_limits<M>::infinity(), s.scores);
      running.absorb(seen.count, sizes.softcap ? M(1) : M(sizes.scale),
                     s.scores);
      accumulate(sequence, head, range, seen, running, s);
    }
    store(sequence, head, range, running, s);
  }

  void load(int64_t sequence, int64_t head, TileRange range,
            Running<M>& running, const Scratch& s) {
    const M* before = lseRow(sequence, head, range.begin);
    for (int64_t i = 0; i < range.count; ++i) {
      running.maximum[i] = before[i];
      running.sum[i] = before[i] > nothingSeen<M> ? M(1) : M(0);
      std::copy_n(queryRow(out, sequence, head, range.begin + i), sizes.width,
                  s.out + i * padded);
    }
  }

  /// scores [keys, queries] = keys times queries.
  void score(int64_t sequence, int64_t head, TileRange seen, const Scratch& s) {
    Operands::left(keyRow(keys.k, sequence, head, seen.begin),
                   sizes.keyHeads * sizes.width, seen.count, sizes.width,
                   s.keys);
    std::fill_n(s.scores, seen.count * tileQueries, M(0));
    Operands::product(seen.count, tileQueries, sizes.width,
                      Strided<Word>{s.keys, Operands::words(sizes.width), 1},
                      s.queries, tileQueries, s.scores, tileQueries);
  }

  /// scores = softcap tanh(scale scores / softcap).
  void cap(TileRange seen, M* scores) const {
    const M most = M(sizes.softcap), inner = M(sizes.scale) / most;
#pragma omp simd
    for (int64_t i = 0; i < seen.count * tileQueries; ++i)
      scores[i] = most * hyperbolicTangent(inner * scores[i]);
  }

  /// out = out * rescale + weights times values.
  void accumulate(int64_t sequence, int64_t head, TileRange range,
                  TileRange seen, const Running<M>& running, const Scratch& s) {
    Operands::right(keyRow(keys.v, sequence, head, seen.begin),
                    sizes.keyHeads * sizes.width, seen.count, sizes.width,
                    padded, s.values);
    for (int64_t i = 0; i < range.count; ++i) {
      M* row = s.out + i * padded;
      const M factor = running.rescale[i];
#pragma omp simd
      for (int64_t d = 0; d < padded; ++d)
        row[d] *= factor;
    }
    Operands::product(range.count, padded, seen.count,
                      Operands::overKeys(s.scores, seen.count, s.weights),
                      s.values, padded, s.out, padded);
  }

  void store(int64_t sequence, int64_t head, TileRange range,
             const Running<M>& running, const Scratch& s) {
    M* logs = lseRow(sequence, head, range.begin);
    for (int64_t i = 0; i < range.count; ++i) {
      Out* to = queryRow(out, sequence, head, range.begin + i);
      if (running.sum[i] == 0) {
        std::fill_n(to, sizes.width, Out());
        logs[i] = unseen;
        continue;
      }
      const M factor = M(1) / running.sum[i];
      const M* row = s.out + i * padded;
#pragma omp simd
      for (int64_t d = 0; d < sizes.width; ++d)
        to[d] = Out(row[d] * factor);
      logs[i] = running.maximum[i] + std::log(running.sum[i]);
    }
  }

  M* lseRow(int64_t sequence, int64_t head, int64_t token) const {
    return lse + (sequence * sizes.heads + head) * sizes.queries + token;
  }
  /// The head's row of a query in data [b, queries, heads, width].
  template <class E>
  E* queryRow(E* data, int64_t sequence, int64_t head, int64_t token) const {
    return data + ((sequence * sizes.queries + token) * sizes.heads + head) *
                      sizes.width;
  }
  /// The row of a key for a query head in a tensor [b, keys, keyHeads, width].
  const T* keyRow(const Tensor& tensor, int64_t sequence, int64_t head,
                  int64_t token) const {
    return tensor.as<T>() + ((sequence * sizes.keys + token) * sizes.keyHeads +
                             head / sizes.group()) *
                                sizes.width;
  }

  device::CpuContext& context;
  const AttentionSizes sizes;
  const int64_t padded;
  const AttentionQueries& queries;
  const AttentionKeys& keys;
  Out* const out;
  M* const lse;
  bool isResumed = false;
  M unseen = 0;
};

/// out = sum. Like attention, sets lse to 0 for queries that saw no key.
template <class T> void finish(const KernelArgs& args) {
  using M = Math<T>;
  const M* from = args.inputs[0].as<M>();
  const Tensor &out = args.outputs[0], &lse = args.outputs[1];
  T* to = out.as<T>();
  if (args.inputs[0].data != out.data)
    device::parallelFor(args.context.threads(), out.elements(), 1 << 12,
                        [&](int64_t begin, int64_t end) {
#pragma omp simd
                          for (int64_t i = begin; i < end; ++i)
                            to[i] = T(from[i]);
                        });
  M* logs = lse.as<M>();
  std::replace(logs, logs + lse.elements(), nothingSeen<M>, M(0));
}

} // namespace

Status attentionBlockKernel(const KernelArgs& args) {
  const auto& in = args.inputs;
  const AttentionQueries queries{in[0], in[3], in[4]};
  const AttentionKeys keys{in[1], in[2], in[5], in[6]};
  return withType(args, in[0].type, [&]<class T>(Type<T>) {
    Forward<T, Math<T>> forward(args, queries, keys, args.outputs[0],
                                args.outputs[1]);
    forward.markUnseen(nothingSeen<Math<T>>);
    if (ops::AttentionBlockAttributes(args.op.attributes).step > 0)
      forward.resume();
    forward.run();
  });
}

Status attentionBlocksEndKernel(const KernelArgs& args) {
  return withType(args, args.outputs[0].type,
                  [&]<class T>(Type<T>) { finish<T>(args); });
}

Status attentionKernel(const KernelArgs& args) {
  const auto& in = args.inputs;
  const AttentionQueries queries{in[0], in[3], in[4]};
  const AttentionKeys keys{in[1], in[2], in[5], in[6]};
  return withType(args, in[0].type, [&]<class T>(Type<T>) {
    Forward<T, T>(args, queries, keys, args.outputs[0], args.outputs[1]).run();
  });
}

} // namespace reciperun::kernels
