// The gradient of attention, tile by tile, with the scores computed again (Dao
// et al. 2022, "FlashAttention", algorithm 4).
//
// With P = exp(scale q k - lse) and delta = sum(do o):
//   dv = P^T do,  dS = P (do v - delta),  dq = scale dS k,  dk = scale dS^T q
// For each sequence and key head (one thread: dk and dv have one owner), each
// of its query heads and tile of 64 queries:
//   1. load queries and do, as they are and transposed; delta;
//   2. for each tile of keys that the queries see: P and dS, keys by queries;
//      add to dq in the caches, to dk and dv in memory.
// dk and dv are summed in f32 or f64: in the outputs when those have that type,
// in the plan's workspace when they are bf16.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/AttentionTiles.h"
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
using device::tileProduct;

template <class T> class Backward {
  using M = Math<T>;
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
  /// Tiles of a thread; those of queries and keys are [64, padded].
  struct Scratch {
    M *queries, *queriesAcross, *outward, *outwardAcross, *keys, *values;
    M *dq, *sum;        // [64, padded]
    M *weights, *slope; // [keys, queries]: P and dS
    M *delta, *lse;     // [queries]
  };
  Scratch scratchOf(int thread) const {
    const int64_t tile = tileQueries * padded;
    const int64_t square = tileKeys * tileQueries;
    M* at = args.context.scratch<M>(
        thread, size_t(8 * tile + 2 * square + 2 * tileQueries));
    M* squares = at + 8 * tile;
    return {at,
            at + tile,
            at + 2 * tile,
            at + 3 * tile,
            at + 4 * tile,
            at + 5 * tile,
            at + 6 * tile,
            at + 7 * tile,
            squares,
            squares + square,
            squares + 2 * square,
            squares + 2 * square + tileQueries};
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
        out[d] = T(row[d] * M(sizes.scale));
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
    loadTile(q, stride, queries.count, sizes.width, M(sizes.scale), padded,
             s.queries);
    loadTile(outward, stride, queries.count, sizes.width, M(1), padded,
             s.outward);
    transposeTile(s.queries, padded, queries.count, sizes.width,
                  s.queriesAcross);
    transposeTile(s.outward, padded, queries.count, sizes.width,
                  s.outwardAcross);
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
    loadTile(keyRow(args.inputs[3].as<T>(), sequence, head, keys.begin), stride,
             keys.count, sizes.width, M(1), padded, s.keys);
    loadTile(keyRow(args.inputs[4].as<T>(), sequence, head, keys.begin), stride,
             keys.count, sizes.width, M(1), padded, s.values);
  }

  /// weights [keys, queries] = P. Columns behind the queries hold exp(0),
  /// which the zeros of their `outward` and queries cancel.
  void weigh(TileRange keys, const Scratch& s) {
    std::fill_n(s.weights, keys.count * tileQueries, M(0));
    tileProduct(keys.count, tileQueries, sizes.width,
                Strided<M>{s.keys, padded, 1}, s.queriesAcross, tileQueries,
                s.weights, tileQueries);
    for (int64_t k = 0; k < keys.count; ++k) {
      M* row = s.weights + k * tileQueries;
#pragma omp simd
      for (int64_t q = 0; q < tileQueries; ++q)
        row[q] = exponential(row[q] - s.lse[q]);
    }
  }

  /// slope [keys, queries] = dS = P (values outward - delta).
  void slopes(TileRange keys, const Scratch& s) {
    std::fill_n(s.slope, keys.count * tileQueries, M(0));
    tileProduct(keys.count, tileQueries, sizes.width,
                Strided<M>{s.values, padded, 1}, s.outwardAcross, tileQueries,
                s.slope, tileQueries);
    for (int64_t k = 0; k < keys.count; ++k) {
      M* row = s.slope + k * tileQueries;
      const M* weight = s.weights + k * tileQueries;
#pragma omp simd
      for (int64_t q = 0; q < tileQueries; ++q)
        row[q] = weight[q] * (row[q] - s.delta[q]);
    }
  }

  void accumulate(int64_t sequence, int64_t head, TileRange queries,
                  TileRange keys, const Scratch& s) {
    tileProduct(queries.count, padded, keys.count,
                Strided<M>{s.slope, 1, tileQueries}, s.keys, padded, s.dq,
                padded);
    addProduct(s.weights, s.outward, queries, keys, s.sum,
               keyRow(dv, sequence, head, keys.begin));
    addProduct(s.slope, s.queries, queries, keys, s.sum,
               keyRow(dk, sequence, head, keys.begin));
  }

  /// Rows of `out` += a [keys, queries] times b [queries, padded].
  void addProduct(const M* a, const M* b, TileRange queries, TileRange keys,
                  M* sum, M* out) {
    std::fill_n(sum, keys.count * padded, M(0));
    tileProduct(keys.count, padded, queries.count,
                Strided<M>{a, tileQueries, 1}, b, padded, sum, padded);
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
