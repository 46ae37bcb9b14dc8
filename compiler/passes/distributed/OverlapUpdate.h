// What ranks exchange once a step runs beside the last backward pass, the
// optimizer and the first forward pass.

#ifndef RECIPEC_PASSES_DISTRIBUTED_OVERLAPUPDATE_H
#define RECIPEC_PASSES_DISTRIBUTED_OVERLAPUPDATE_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Cuts the collectives of regions that ranks keep whole in two: gradients are
/// on their way while the last of `microBatches` goes backward, parameters
/// while other regions are stepped, and while the next first one goes forward.
/// Between steps ranks may then have others' parts of parameters as they were
/// before. Behind the bucket pass, and behind that which moves products, so
/// that these go where they hide more.
void overlapUpdate(ir::Module& program, int64_t microBatches);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DISTRIBUTED_OVERLAPUPDATE_H
