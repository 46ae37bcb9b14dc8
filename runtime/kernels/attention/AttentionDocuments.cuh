// The document table of packed rows, in cuDNN's format. A kernel builds it from
// the segments, so that the host is not involved and a recorded step uses the
// documents of its own micro-batch.
//
// A document begins at a token whose segment differs from the previous token's.
// Padding belongs to the document before it. At the start of a row it is a
// document of its own. Row r has the entries from r * most on. Unused entries
// have no tokens.

#ifndef RECIPERUN_KERNELS_ATTENTION_ATTENTIONDOCUMENTS_CUH
#define RECIPERUN_KERNELS_ATTENTION_ATTENTIONDOCUMENTS_CUH

#include "runtime/device/cuda/AttentionPlans.h"
#include "runtime/kernels/attention/AttentionLaunch.cuh"
#include "runtime/kernels/common/Scratch.cuh"

#include <cstdint>
#include <cstdio>

namespace reciperun::kernels::cuda {

/// Entries of all rows: i32 [entries] token counts, and i64 [entries + 1]
/// offsets of q, k and lse, in elements, at which a document begins.
struct DocumentTable {
  int32_t* lengths;
  int64_t *queries, *keys, *states;

  device::AttentionPlans::Documents data() const {
    return {lengths, queries, keys, states};
  }
};

/// Rows of `tokens` tokens, with up to `most` documents each.
struct PackedRows {
  int count, tokens, most;
  int heads, queryWidth, keyWidth; // elements of q and k per token

  explicit PackedRows(const device::AttentionPlans::Shape& shape)
      : count(int(shape.tokens / shape.queryRows)),
        tokens(int(shape.queryRows)), most(int(shape.batch / count)),
        heads(int(shape.heads)), queryWidth(int(shape.heads * shape.width)),
        keyWidth(int(shape.keyHeads * shape.width)) {}

  /// Stores that entry `entry` begins at a token of a row.
  __device__ void place(const DocumentTable& table, int64_t entry, int64_t row,
                        int64_t token) const {
    const int64_t at = row * tokens + token;
    table.queries[entry] = at * queryWidth;
    table.keys[entry] = at * keyWidth;
    table.states[entry] = row * heads * tokens + token;
  }
};

inline constexpr int documentThreads = 1024;

/// One thread block per row, with shared memory for `most` integers.
static __global__ __launch_bounds__(documentThreads) void findDocuments(
    PackedRows rows, const int32_t* segments, DocumentTable table) {
  extern __shared__ int starts[];
  __shared__ int begunInWarp[documentThreads / 32];
  const int thread = int(threadIdx.x), warp = thread / 32,
            row = int(blockIdx.x);
  const int32_t* const own = segments + int64_t(row) * rows.tokens;
  int found = 0;
  for (int base = 0; base < rows.tokens; base += documentThreads) {
    const int token = base + thread;
    const bool begins =
        token < rows.tokens &&
        (token == 0 || (own[token] >= 0 && own[token] != own[token - 1]));
    const unsigned votes = __ballot_sync(~0u, begins);
    if (thread % 32 == 0)
      begunInWarp[warp] = __popc(votes);
    __syncthreads();
    int number = found + __popc(votes & ((1u << thread % 32) - 1));
    for (int i = 0; i < documentThreads / 32; ++i) {
      number += i < warp ? begunInWarp[i] : 0;
      found += begunInWarp[i];
    }
    if (begins && number < rows.most)
      starts[number] = token;
    __syncthreads();
  }
  if (found > rows.most) {
    if (thread == 0)
      printf(
          "attention: row %d of a micro-batch has %d documents, and the plan "
          "says that there are at most %d\n",
          row, found, rows.most);
    __trap();
  }
  for (int i = thread; i < rows.most; i += documentThreads) {
    const int begin = i < found ? starts[i] : rows.tokens;
    const int end = i + 1 < found ? starts[i + 1] : rows.tokens;
    const int64_t entry = int64_t(row) * rows.most + i;
    table.lengths[entry] = end - begin;
    rows.place(table, entry, row, begin);
  }
  if (row + 1 == rows.count && thread == 0)
    rows.place(table, int64_t(rows.count) * rows.most, rows.count, 0);
}

/// Takes the table of an attention from the scratch; empty for an attention
/// without documents.
inline DocumentTable takeTable(const device::AttentionPlans::Shape& shape,
                               Scratch& room) {
  DocumentTable table = {};
  if (!shape.tokens)
    return table;
  table.lengths = room.take<int32_t>(shape.batch);
  for (int64_t** list : {&table.queries, &table.keys, &table.states})
    *list = room.take<int64_t>(shape.batch + 1);
  return table;
}

/// Fills the table, if there is one, from the segments i32 [rows, tokens].
inline Status fillTable(const device::AttentionPlans::Shape& shape,
                        const device::Tensor& segments,
                        const DocumentTable& table, cudaStream_t stream) {
  if (!shape.tokens)
    return Status::ok();
  const PackedRows rows(shape);
  return launch(findDocuments, dim3(unsigned(rows.count)), documentThreads,
                rows.most * int(sizeof(int)), stream, rows,
                segments.as<int32_t>(), table);
}

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_ATTENTIONDOCUMENTS_CUH
