// Attention over a part of the keys at a time, for callers that get keys and
// values block by block (the ring of context parallelism).
//
// The softmax of a query over all blocks is carried on from block to block: the
// output so far, normalised, and the log of the sum of exponentials, lse, are
// all that the next block needs (Liu et al. 2023, "Ring Attention with
// Blockwise Transformers"; Milakov & Gimelshein 2018). Sums are M, f32 or f64.
// `call` is that of the op on whose behalf the blocks are taken: its attributes
// and its threads count.

#ifndef RECIPERUN_KERNELS_ATTENTIONBLOCK_H
#define RECIPERUN_KERNELS_ATTENTIONBLOCK_H

#include "runtime/device/KernelTable.h"
#include "runtime/kernels/AttentionTiles.h"

#include <limits>

namespace reciperun::kernels {

/// The lse of a query that has seen no key: finite, so that the difference of
/// two is never NaN.
template <class M>
inline constexpr M nothingSeen = std::numeric_limits<M>::lowest() / 2;

/// Takes a block of keys into `sum` M [b, queries, heads, d] and `lse` M
/// [b, heads, queries]. The first block overwrites both. Queries that have seen
/// no key so far have a sum of 0 and the lse `nothingSeen`.
Status attendBlock(const device::KernelArgs& call,
                   const AttentionQueries& queries, const AttentionKeys& keys,
                   const device::Tensor& sum, const device::Tensor& lse,
                   bool isFirst);

/// Ends the blocks: out T = sum, and lse is 0 where nothing was seen, as
/// attention leaves it. `out` may be `sum` where T is M.
Status finishBlocks(const device::KernelArgs& call, const device::Tensor& sum,
                    const device::Tensor& out, const device::Tensor& lse);

/// What the forward knew of the queries that the backward reads.
struct AttentionOutputs {
  device::Tensor dout, out; // T [b, queries, heads, d]
  device::Tensor lse;       // M [b, heads, queries]
};

/// The gradients that a block of keys gives, M: dq [b, queries, heads, d] is
/// added to, and so are dk and dv [b, keys, keyHeads, d].
struct AttentionGradients {
  device::Tensor dq, dk, dv;
};
Status attendBlockBackward(const device::KernelArgs& call,
                           const AttentionOutputs& outputs,
                           const AttentionQueries& queries,
                           const AttentionKeys& keys,
                           const AttentionGradients& gradients);

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_ATTENTIONBLOCK_H
