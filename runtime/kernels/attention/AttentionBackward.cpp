// The gradient of attention, tile by tile, with recomputed scores (Dao et al.
// 2022, "FlashAttention", algorithm 4).
//
// With P = exp(scale q k - lse) and delta = sum(do o):
//   dv = P^T do,  dS = scale P (do v - delta),  dq = dS k,  dk = dS^T q
// For each sequence and key head (one thread: dk and dv have one owner), each
// of its query heads and tile of 64 queries:
//   1. load queries and do, unchanged and transposed; compute delta;
//   2. for each tile of keys that the queries see: compute P and dS, keys by
//      queries; add to dq in the caches, and to dk and dv in memory.
// dk and dv are accumulated in f32 or f64: in the outputs if they have that
// type, in the plan's workspace if they are bf16. A block of keys adds to the
// existing gradients, including dq.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/attention/AttentionOperands.h"
#include "runtime/kernels/common/Exponential.h"
#include "runtime/kernels/common/HyperbolicTangent.h"
#include "runtime/kernels/common/Kernels.h"

#include <algorithm>
#include <cassert>
#include <type_traits>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::Strided;
using device::Tensor;

/// Results of the forward, and the output gradient, for the queries.
struct AttentionOutputs {
  Tensor dout, out; // T [b, queries, heads, d]
  Tensor lse;       // M [b, heads, queries]
};

/// The gradients of one block of keys. dq is T for a single block, and an
/// accumulator M for one of several.
template <class T, class Out> class Backward {
  using M = Math<T>;
  using Operands = AttentionOperands<T>;
  using Word = typename Operands::Word;

public:
  Backward(const KernelArgs& call, const AttentionOutputs& outputs,
           const AttentionQueries& queries, const AttentionKeys& keys, Out* dq,
           M* dk, M* dv)
      : context(call.context), sizes(call.op, queries.q, keys.k),
        padded(sizes.paddedWidth<M>()), outputs(outputs), queries(queries),
        keys(keys), dq(dq), dk(dk), dv(dv) {}

  /// Adds to the existing gradients.
  void resume() { isResumed = true; }

  void run() {
    device::parallelItems(context.threads(), sizes.batch * sizes.keyHeads,
                          [&](int64_t item, int thread) {
                            keyHead(item / sizes.keyHeads,
                                    item % sizes.keyHeads, thread);
                          });
  }

private:
  /// A thread's tiles, in the layouts of AttentionOperands.h. A word is never
  /// larger than M.
  struct Scratch {
    M *dq, *sum;        // [64, padded]
    M *weights, *slope; // [keys, queries]: P and dS
    M *delta, *lse;     // [queries]
    M* bend;            // [keys, queries]: the softcap's derivative, if any
    Word *queriesAcross, *outwardAcross, *queries, *outward; // the last right
    Word *keysLeft, *valuesLeft, *keys;                      // the last right
    Word* operand;                                           // P or dS as A
  };
  Scratch scratchOf(int thread) const {
    const int64_t tile = tileQueries * padded;
    const int64_t square = tileKeys * tileQueries;
    const int64_t squareCount = sizes.softcap ? 4 : 3;
    M* at = context.scratch<M>(
        thread, size_t(9 * tile + squareCount * square + 2 * tileQueries));
    M* squares = at + 2 * tile;
    M* rows = squares + (squareCount - 1) * square;
    Word* words = reinterpret_cast<Word*>(rows + 2 * tileQueries);
    return {at,
            at + tile,
            squares,
            squares + square,
            rows,
            rows + tileQueries,
            squares + 2 * square,
            words,
            words + tile,
            words + 2 * tile,
            words + 3 * tile,
            words + 4 * tile,
            words + 5 * tile,
            words + 6 * tile,
            words + 7 * tile};
  }

  /// All gradients of one key head of one sequence.
  void keyHead(int64_t sequence, int64_t head, int thread) {
    const Scratch s = scratchOf(thread);
    for (int64_t token = 0; !isResumed && token < sizes.keys; ++token) {
      std::fill_n(keyRow(dk, sequence, head, token), sizes.width, M(0));
      std::fill_n(keyRow(dv, sequence, head, token), sizes.width, M(0));
    }
    for (int64_t member = 0; member < sizes.group(); ++member)
      for (int64_t tile = 0; tile < sizes.queryTiles(); ++tile)
        queryTile(sequence, head, head * sizes.group() + member,
                  tileRange(tile, tileQueries, sizes.queries), s);
  }

  void queryTile(int64_t sequence, int64_t head, int64_t queryHead,
                 TileRange range, const Scratch& s) {
    const Visibility visibility(
        tokensOf(queries.segments, queries.places, sequence * sizes.queries),
        range, tokensOf(keys.segments, keys.places, sequence * sizes.keys),
        sizes.mask);
    loadQueries(sequence, queryHead, range, s);
    std::fill_n(s.dq, tileQueries * padded, M(0));
    for (int64_t j = 0; j < sizes.keyTiles(); ++j) {
      const TileRange seen = tileRange(j, tileKeys, sizes.keys);
      const Visible visible = visibility.of(seen);
      if (visible == Visible::none)
        continue;
      loadKeys(sequence, head, seen, s);
      weigh(seen, s);
      if (visible == Visible::some)
        visibility.hide(seen, M(0), s.weights);
      slopes(seen, s);
      accumulate(sequence, head, range, seen, s);
    }
    for (int64_t i = 0; i < range.count; ++i)
      storeQuery(s.dq + i * padded,
                 queryRow(dq, sequence, queryHead, range.begin + i));
  }

  void storeQuery(const M* row, Out* to) {
    if (isResumed) {
#pragma omp simd
      for (int64_t d = 0; d < sizes.width; ++d)
        to[d] = Out(M(to[d]) + row[d]);
      return;
    }
#pragma omp simd
    for (int64_t d = 0; d < sizes.width; ++d)
      to[d] = Out(row[d]);
  }

  void loadQueries(int64_t sequence, int64_t head, TileRange range,
                   const Scratch& s) {
    const int64_t stride = sizes.heads * sizes.width;
    const T* q = queryRow(queries.q.as<T>(), sequence, head, range.begin);
    const T* outward =
        queryRow(outputs.dout.as<T>(), sequence, head, range.begin);
    const T* out = queryRow(outputs.out.as<T>(), sequence, head, range.begin);
    Operands::across(q, stride, range.count, sizes.width, s.queriesAcross);
    Operands::right(q, stride, range.count, sizes.width, padded, s.queries);
    Operands::across(outward, stride, range.count, sizes.width,
                     s.outwardAcross);
    Operands::right(outward, stride, range.count, sizes.width, padded,
                    s.outward);
    std::fill_n(s.delta, tileQueries, M(0));
    for (int64_t i = 0; i < range.count; ++i) {
      M sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t d = 0; d < sizes.width; ++d)
        sum += M(outward[i * stride + d]) * M(out[i * stride + d]);
      s.delta[i] = sum;
    }
    const M* lse = outputs.lse.as<M>() +
                   (sequence * sizes.heads + head) * sizes.queries +
                   range.begin;
    std::fill_n(s.lse, tileQueries, M(0));
    std::copy_n(lse, range.count, s.lse);
  }

  void loadKeys(int64_t sequence, int64_t head, TileRange seen,
                const Scratch& s) {
    const int64_t stride = sizes.keyHeads * sizes.width;
    const T* key = keyRow(keys.k.as<T>(), sequence, head, seen.begin);
    const T* value = keyRow(keys.v.as<T>(), sequence, head, seen.begin);
    Operands::left(key, stride, seen.count, sizes.width, s.keysLeft);
    Operands::left(value, stride, seen.count, sizes.width, s.valuesLeft);
    Operands::right(key, stride, seen.count, sizes.width, padded, s.keys);
  }

  /// weights [keys, queries] = P. Columns beyond the queries hold exp(0). The
  /// zeros of their `outward` and queries cancel them.
  void weigh(TileRange seen, const Scratch& s) {
    multiplyAcross(s.keysLeft, s.queriesAcross, seen, s.weights);
    if (sizes.softcap)
      cap(seen, s);
    const M scale = sizes.softcap ? M(1) : M(sizes.scale);
    for (int64_t k = 0; k < seen.count; ++k) {
      M* row = s.weights + k * tileQueries;
#pragma omp simd
      for (int64_t q = 0; q < tileQueries; ++q)
        row[q] = exponential(scale * row[q] - s.lse[q]);
    }
  }

  /// slope [keys, queries] = dS = scale P (values outward - delta).
  void slopes(TileRange seen, const Scratch& s) {
    multiplyAcross(s.valuesLeft, s.outwardAcross, seen, s.slope);
    const M scale = M(sizes.scale);
    for (int64_t k = 0; k < seen.count; ++k) {
      M* row = s.slope + k * tileQueries;
      const M* weight = s.weights + k * tileQueries;
#pragma omp simd
      for (int64_t q = 0; q < tileQueries; ++q)
        row[q] = scale * weight[q] * (row[q] - s.delta[q]);
    }
    if (!sizes.softcap)
      return;
#pragma omp simd
    for (int64_t i = 0; i < seen.count * tileQueries; ++i)
      s.slope[i] *= s.bend[i];
  }

  /// weights = softcap tanh(scale weights / softcap), and bend its derivative.
  void cap(TileRange seen, const Scratch& s) const {
    const M most = M(sizes.softcap), inner = M(sizes.scale) / most;
#pragma omp simd
    for (int64_t i = 0; i < seen.count * tileQueries; ++i) {
      const M t = hyperbolicTangent(inner * s.weights[i]);
      s.weights[i] = most * t;
      s.bend[i] = M(1) - t * t;
    }
  }

  /// out [keys, queries] = left [keys, width] times across [width, queries].
  void multiplyAcross(const Word* left, const Word* across, TileRange seen,
                      M* out) {
    std::fill_n(out, seen.count * tileQueries, M(0));
    Operands::product(seen.count, tileQueries, sizes.width,
                      Strided<Word>{left, Operands::words(sizes.width), 1},
                      across, tileQueries, out, tileQueries);
  }

  void accumulate(int64_t sequence, int64_t head, TileRange range,
                  TileRange seen, const Scratch& s) {
    Operands::product(range.count, padded, seen.count,
                      Operands::overKeys(s.slope, seen.count, s.operand),
                      s.keys, padded, s.dq, padded);
    addMatmul(Operands::overQueries(s.weights, seen.count, s.operand),
              s.outward, range, seen, s.sum,
              keyRow(dv, sequence, head, seen.begin));
    addMatmul(Operands::overQueries(s.slope, seen.count, s.operand), s.queries,
              range, seen, s.sum, keyRow(dk, sequence, head, seen.begin));
  }

  /// Rows of `out` += a [keys, queries] times b [queries, padded].
  void addMatmul(Strided<Word> a, const Word* b, TileRange range,
                 TileRange seen, M* sum, M* out) {
    std::fill_n(sum, seen.count * padded, M(0));
    Operands::product(seen.count, padded, range.count, a, b, padded, sum,
                      padded);
    const int64_t stride = sizes.keyHeads * sizes.width;
    for (int64_t i = 0; i < seen.count; ++i) {
#pragma omp simd
      for (int64_t d = 0; d < sizes.width; ++d)
        out[i * stride + d] += sum[i * padded + d];
    }
  }

  template <class E>
  E* queryRow(E* data, int64_t sequence, int64_t head, int64_t token) const {
    return data + ((sequence * sizes.queries + token) * sizes.heads + head) *
                      sizes.width;
  }
  template <class E>
  E* keyRow(E* data, int64_t sequence, int64_t head, int64_t token) const {
    return data + ((sequence * sizes.keys + token) * sizes.keyHeads + head) *
                      sizes.width;
  }

  device::CpuContext& context;
  const AttentionSizes sizes;
  const int64_t padded;
  const AttentionOutputs& outputs;
  const AttentionQueries& queries;
  const AttentionKeys& keys;
  Out* const dq;
  M* const dk;
  M* const dv;
  bool isResumed = false;
};

template <class T>
void roundAll(const KernelArgs& args, const Math<T>* from, const Tensor& to) {
  T* rounded = to.as<T>();
  device::parallelFor(args.context.threads(), to.elements(), 1 << 12,
                      [&](int64_t begin, int64_t end) {
#pragma omp simd
                        for (int64_t i = begin; i < end; ++i)
                          rounded[i] = T(from[i]);
                      });
}

template <class T> void attentionBackward(const KernelArgs& args) {
  using M = Math<T>;
  const auto& in = args.inputs;
  const AttentionOutputs outputs{in[0], in[1], in[5]};
  const AttentionQueries queries{in[2], in[6], in[7]};
  const AttentionKeys keys{in[3], in[4], in[8], in[9]};
  const Tensor &dq = args.outputs[0], &dk = args.outputs[1],
               &dv = args.outputs[2];
  if constexpr (std::is_same_v<T, M>) {
    Backward<T, T>(args, outputs, queries, keys, dq.as<T>(), dk.as<T>(),
                   dv.as<T>())
        .run();
    return;
  }
  assert(args.workspace.present() &&
         args.workspace.bytes() >= 2 * dk.elements() * int64_t(sizeof(M)) &&
         "the plan gives attention_backward room to sum dk and dv");
  M* sums = args.workspace.as<M>();
  Backward<T, T>(args, outputs, queries, keys, dq.as<T>(), sums,
                 sums + dk.elements())
      .run();
  roundAll<T>(args, sums, dk);
  roundAll<T>(args, sums + dk.elements(), dv);
}

} // namespace

Status attentionBlockBackwardKernel(const KernelArgs& args) {
  const auto& in = args.inputs;
  const AttentionOutputs outputs{in[0], in[1], in[5]};
  const AttentionQueries queries{in[2], in[6], in[7]};
  const AttentionKeys keys{in[3], in[4], in[8], in[9]};
  return withType(args, in[2].type, [&]<class T>(Type<T>) {
    using M = Math<T>;
    Backward<T, M> backward(args, outputs, queries, keys,
                            args.outputs[0].as<M>(), args.outputs[1].as<M>(),
                            args.outputs[2].as<M>());
    backward.resume();
    backward.run();
  });
}

Status attentionBackwardKernel(const KernelArgs& args) {
  return withType(args, args.inputs[0].type,
                  [&]<class T>(Type<T>) { attentionBackward<T>(args); });
}

} // namespace reciperun::kernels
