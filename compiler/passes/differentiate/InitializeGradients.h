// Avoids clearing gradients at the start of a step.

#ifndef RECIPEC_PASSES_DIFFERENTIATE_INITIALIZEGRADIENTS_H
#define RECIPEC_PASSES_DIFFERENTIATE_INITIALIZEGRADIENTS_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Turns a clear and dw += dy^T x into dw = dy^T x, which saves a write and a
/// read of the gradient's memory. If a gradient accumulates over several
/// `microBatches`, the first micro-batch writes and the others add. Runs after
/// the bucket pass.
void initializeGradients(ir::Module& program, int64_t microBatches);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DIFFERENTIATE_INITIALIZEGRADIENTS_H
