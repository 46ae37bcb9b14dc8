// Spares gradients the zeros that they begin with.

#ifndef RECIPEC_PASSES_DIFFERENTIATE_INITIALIZEGRADIENTS_H
#define RECIPEC_PASSES_DIFFERENTIATE_INITIALIZEGRADIENTS_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// 0, then + dy^T x → dy^T x: saves a pass over the memory of a gradient that
/// clears it and one that reads it again. Of a gradient that lasts a step, the
/// first of `microBatches` writes, the others add. Behind the bucket pass.
void initializeGradients(ir::Module& program, int64_t microBatches);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DIFFERENTIATE_INITIALIZEGRADIENTS_H
