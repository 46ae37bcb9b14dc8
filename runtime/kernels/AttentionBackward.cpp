// The gradient of attention, tile by tile, with the scores computed again (Dao
// et al. 2022, "FlashAttention", algorithm 4).
//
// With P = exp(scale q k - lse) and delta = sum(do o):
//   dv = P^T do,  dS = scale P (do v - delta),  dq = dS k,  dk = dS^T q
// For each sequence and key head (one thread: dk and dv have one owner), each
// of its query heads and tile of 64 queries:
//   1. load queries and do, as they are and transposed; delta;
//   2. for each tile of keys that the queries see: P and dS, keys by queries;
//      add to dq in the caches, to dk and dv in memory.
// dk and dv are summed in f32 or f64: in the outputs when those have that type,
// in the plan's workspace when they are bf16.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/AttentionOperands.h"
#include "runtime/kernels/Exponential.h"
#include "runtime/kernels/Kernels.h"

#include <algorithm>
#include <cassert>
#include <type_traits>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::Strided;
using device::Tensor;

template <class T> class Backward {
  using M = Math<T>;
  using Operands = AttentionOperands<T>;
  using Word = typename Operands::Word;
  static constexpr bool inPlace = std::is_same_v<T, M>;

public:
  explicit Backward(const KernelArgs& args)
      : args(args), sizes(args.op, args.inputs[2], args.inputs[3]),
        padded(sizes.paddedWidth<M>()) {
    if constexpr (inPlace) {
      dk = args.outputs[1].as<M>();
      dv = args.outputs[2].as<M>();
      return;
    }
    const int64_t elements = args.outputs[1].elements();
    assert(args.workspace.present() &&
           args.workspace.bytes() >= 2 * elements * int64_t(sizeof(M)) &&
           "the plan gives attention_backward room to sum dk and dv");
    dk = args.workspace.as<M>();
    dv = dk + elements;
  }

  void run() {
    device::parallelItems(args.context.threads(), sizes.batch * sizes.keyHeads,
                          [&](int64_t item, int thread) {
                            keyHead(item / sizes.keyHeads,
                                    item % sizes.keyHeads, thread);
                          });
  }

private:
  /// A thread's tiles, in the forms of AttentionOperands.h; a word is never
  /// larger than M.
  struct Scratch {
    M *dq, *sum;        // [64, padded]
    M *weights, *slope; // [keys, queries]: P and dS
    M *delta, *lse;     // [queries]
    Word *queriesAcross, *outwardAcross, *queries, *outward; // the last right
    Word *keysLeft, *valuesLeft, *keys;                      // the last right
    Word* operand;                                           // P or dS as A
  };
  Scratch scratchOf(int thread) const {
    const int64_t tile = tileQueries * padded;
    const int64_t square = tileKeys * tileQueries;
    M* at = args.context.scratch<M>(
        thread, size_t(9 * tile + 3 * square + 2 * tileQueries));
    M* squares = at + 2 * tile;
    M* rows = squares + 2 * square;
    Word* words = reinterpret_cast<Word*>(rows + 2 * tileQueries);
    return {at,
            at + tile,
            squares,
            squares + square,
            rows,
            rows + tileQueries,
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
    for (int64_t token = 0; token < sizes.sequence; ++token) {
      std::fill_n(keyRow(dk, sequence, head, token), sizes.width, M(0));
      std::fill_n(keyRow(dv, sequence, head, token), sizes.width, M(0));
    }
    for (int64_t member = 0; member < sizes.group(); ++member)
      for (int64_t tile = 0; tile < sizes.queryTiles(); ++tile)
        queryTile(sequence, head, head * sizes.group() + member,
                  tileRange(tile, tileQueries, sizes.sequence), s);
    if constexpr (!inPlace)
      round(sequence, head);
  }

  void queryTile(int64_t sequence, int64_t head, int64_t queryHead,
                 TileRange queries, const Scratch& s) {
    const int32_t* segments =
        args.inputs[6].as<int32_t>() + sequence * sizes.sequence;
    const Visibility visibility(segments, sizes.causal);
    loadQueries(sequence, queryHead, queries, s);
    std::fill_n(s.dq, tileQueries * padded, M(0));
    for (int64_t j = 0; j < sizes.keyTiles(); ++j) {
      const TileRange keys = tileRange(j, tileKeys, sizes.sequence);
      const Visible seen = visibility.between(queries, keys);
      if (seen == Visible::none)
        continue;
      loadKeys(sequence, head, keys, s);
      weigh(keys, s);
      if (seen == Visible::some)
        visibility.hide(queries, keys, M(0), s.weights);
      slopes(keys, s);
      accumulate(sequence, head, queries, keys, s);
    }
    for (int64_t i = 0; i < queries.count; ++i) {
      T* out = queryRow(args.outputs[0].as<T>(), sequence, queryHead,
                        queries.begin + i);
      const M* row = s.dq + i * padded;
#pragma omp simd
      for (int64_t d = 0; d < sizes.width; ++d)
        out[d] = T(row[d]);
    }
  }

  void loadQueries(int64_t sequence, int64_t head, TileRange queries,
                   const Scratch& s) {
    const int64_t stride = sizes.heads * sizes.width;
    const T* q =
        queryRow(args.inputs[2].as<T>(), sequence, head, queries.begin);
    const T* outward =
        queryRow(args.inputs[0].as<T>(), sequence, head, queries.begin);
    const T* out =
        queryRow(args.inputs[1].as<T>(), sequence, head, queries.begin);
    Operands::across(q, stride, queries.count, sizes.width, s.queriesAcross);
    Operands::right(q, stride, queries.count, sizes.width, padded, s.queries);
    Operands::across(outward, stride, queries.count, sizes.width,
                     s.outwardAcross);
    Operands::right(outward, stride, queries.count, sizes.width, padded,
                    s.outward);
    std::fill_n(s.delta, tileQueries, M(0));
    for (int64_t i = 0; i < queries.count; ++i) {
      M sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t d = 0; d < sizes.width; ++d)
        sum += M(outward[i * stride + d]) * M(out[i * stride + d]);
      s.delta[i] = sum;
    }
    const M* lse = args.inputs[5].as<M>() +
                   (sequence * sizes.heads + head) * sizes.sequence +
                   queries.begin;
    std::fill_n(s.lse, tileQueries, M(0));
    std::copy_n(lse, queries.count, s.lse);
  }

  void loadKeys(int64_t sequence, int64_t head, TileRange keys,
                const Scratch& s) {
    const int64_t stride = sizes.keyHeads * sizes.width;
    const T* key = keyRow(args.inputs[3].as<T>(), sequence, head, keys.begin);
    const T* value = keyRow(args.inputs[4].as<T>(), sequence, head, keys.begin);
    Operands::left(key, stride, keys.count, sizes.width, s.keysLeft);
    Operands::left(value, stride, keys.count, sizes.width, s.valuesLeft);
    Operands::right(key, stride, keys.count, sizes.width, padded, s.keys);
  }

  /// weights [keys, queries] = P. Columns behind the queries hold exp(0),
  /// which the zeros of their `outward` and queries cancel.
  void weigh(TileRange keys, const Scratch& s) {
    multiplyAcross(s.keysLeft, s.queriesAcross, keys, s.weights);
    const M scale = M(sizes.scale);
    for (int64_t k = 0; k < keys.count; ++k) {
      M* row = s.weights + k * tileQueries;
#pragma omp simd
      for (int64_t q = 0; q < tileQueries; ++q)
        row[q] = exponential(scale * row[q] - s.lse[q]);
    }
  }

  /// slope [keys, queries] = dS = scale P (values outward - delta).
  void slopes(TileRange keys, const Scratch& s) {
    multiplyAcross(s.valuesLeft, s.outwardAcross, keys, s.slope);
    const M scale = M(sizes.scale);
    for (int64_t k = 0; k < keys.count; ++k) {
      M* row = s.slope + k * tileQueries;
      const M* weight = s.weights + k * tileQueries;
#pragma omp simd
      for (int64_t q = 0; q < tileQueries; ++q)
        row[q] = scale * weight[q] * (row[q] - s.delta[q]);
    }
  }

  /// out [keys, queries] = left [keys, width] times across [width, queries].
  void multiplyAcross(const Word* left, const Word* across, TileRange keys,
                      M* out) {
    std::fill_n(out, keys.count * tileQueries, M(0));
    Operands::product(keys.count, tileQueries, sizes.width,
                      Strided<Word>{left, Operands::words(sizes.width), 1},
                      across, tileQueries, out, tileQueries);
  }

  void accumulate(int64_t sequence, int64_t head, TileRange queries,
                  TileRange keys, const Scratch& s) {
    Operands::product(queries.count, padded, keys.count,
                      Operands::overKeys(s.slope, keys.count, s.operand),
                      s.keys, padded, s.dq, padded);
    addProduct(Operands::overQueries(s.weights, keys.count, s.operand),
               s.outward, queries, keys, s.sum,
               keyRow(dv, sequence, head, keys.begin));
    addProduct(Operands::overQueries(s.slope, keys.count, s.operand), s.queries,
               queries, keys, s.sum, keyRow(dk, sequence, head, keys.begin));
  }

  /// Rows of `out` += a [keys, queries] times b [queries, padded].
  void addProduct(Strided<Word> a, const Word* b, TileRange queries,
                  TileRange keys, M* sum, M* out) {
    std::fill_n(sum, keys.count * padded, M(0));
    Operands::product(keys.count, padded, queries.count, a, b, padded, sum,
                      padded);
    const int64_t stride = sizes.keyHeads * sizes.width;
    for (int64_t i = 0; i < keys.count; ++i) {
#pragma omp simd
      for (int64_t d = 0; d < sizes.width; ++d)
        out[i * stride + d] += sum[i * padded + d];
    }
  }

  void round(int64_t sequence, int64_t head) {
    for (int64_t token = 0; token < sizes.sequence; ++token) {
      roundRow(keyRow(dk, sequence, head, token),
               keyRow(args.outputs[1].as<T>(), sequence, head, token));
      roundRow(keyRow(dv, sequence, head, token),
               keyRow(args.outputs[2].as<T>(), sequence, head, token));
    }
  }
  void roundRow(const M* from, T* to) {
#pragma omp simd
    for (int64_t d = 0; d < sizes.width; ++d)
      to[d] = T(from[d]);
  }

  template <class E>
  E* queryRow(E* data, int64_t sequence, int64_t head, int64_t token) const {
    return data + ((sequence * sizes.sequence + token) * sizes.heads + head) *
                      sizes.width;
  }
  template <class E>
  E* keyRow(E* data, int64_t sequence, int64_t head, int64_t token) const {
    return data +
           ((sequence * sizes.sequence + token) * sizes.keyHeads + head) *
               sizes.width;
  }

  const KernelArgs& args;
  const AttentionSizes sizes;
  const int64_t padded;
  M* dk;
  M* dv;
};

} // namespace

template <>
Status kernel<plan::OpKind::AttentionBackward>(const device::KernelArgs& args) {
  return withType(args, args.inputs[0].type,
                  [&]<class T>(Type<T>) { Backward<T>(args).run(); });
}

} // namespace reciperun::kernels
