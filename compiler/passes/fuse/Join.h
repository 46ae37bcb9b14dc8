// Joins ops with a common operand, so that it is read once.

#ifndef RECIPEC_PASSES_FUSE_JOIN_H
#define RECIPEC_PASSES_FUSE_JOIN_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// softmax_max and softmax_sum of unsplit logits become softmax_stats. Narrow
/// matmuls of one x (adapters of q, k and v) or one gradient become
/// linear_joint and its gradients. Runs after all passes that handle the single
/// ops.
void join(ir::Module& program);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_FUSE_JOIN_H
