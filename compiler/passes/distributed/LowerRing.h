// Expands ring attention (Liu et al. 2023, "Ring Attention with Blockwise
// Transformers") into attention to one block of keys at a time.

#ifndef RECIPEC_PASSES_DISTRIBUTED_LOWERRING_H
#define RECIPEC_PASSES_DISTRIBUTED_LOWERRING_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Replaces each `ring_attention` and `ring_attention_backward` by block ops
/// and by shifts of the blocks to the next rank, which overlap with the block
/// ops. The received blocks and the sums become values of the Program.
void lowerRing(ir::Module& program);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DISTRIBUTED_LOWERRING_H
