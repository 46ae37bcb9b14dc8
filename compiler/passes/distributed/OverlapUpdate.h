// Overlaps the collectives of a step with the last backward pass, the optimizer
// and the first forward pass.

#ifndef RECIPEC_PASSES_DISTRIBUTED_OVERLAPUPDATE_H
#define RECIPEC_PASSES_DISTRIBUTED_OVERLAPUPDATE_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Splits the collectives of regions with full buffers in two. Gradients are
/// reduced during the backward pass of the last of `microBatches`; parameters
/// are gathered while other regions are updated and during the next step's
/// first forward pass. Between steps, a rank may therefore have outdated copies
/// of other ranks' shards. Runs after the bucket pass and after the pass that
/// moves matmuls, so that each matmul goes where it hides more communication.
void overlapUpdate(ir::Module& program, int64_t microBatches);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DISTRIBUTED_OVERLAPUPDATE_H
