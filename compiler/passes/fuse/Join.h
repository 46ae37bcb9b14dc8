// Joins ops that read the same, so that it is read once.

#ifndef RECIPEC_PASSES_FUSE_JOIN_H
#define RECIPEC_PASSES_FUSE_JOIN_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// softmax_max and softmax_sum of logits that are not split → softmax_stats;
/// narrow products of one x (adapters of q, k and v), or of one gradient →
/// linear_joint and its gradients. Behind all passes that know the single ops.
void join(ir::Module& program);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_FUSE_JOIN_H
