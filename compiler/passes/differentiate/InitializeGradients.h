// Avoids clearing gradients at the start of a step.

#ifndef RECIPEC_PASSES_DIFFERENTIATE_INITIALIZEGRADIENTS_H
#define RECIPEC_PASSES_DIFFERENTIATE_INITIALIZEGRADIENTS_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// A clear and dw += dy^T x become dw = dy^T x, which saves a write and a read
/// of the gradient's memory. For a gradient that lasts a step, the first of
/// `microBatches` writes and the others accumulate. Runs after the bucket pass.
void initializeGradients(ir::Module& program, int64_t microBatches);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DIFFERENTIATE_INITIALIZEGRADIENTS_H
