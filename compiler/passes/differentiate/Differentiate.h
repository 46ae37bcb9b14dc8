// Adds the function `backward` to a Program.

#ifndef RECIPEC_PASSES_DIFFERENTIATE_DIFFERENTIATE_H
#define RECIPEC_PASSES_DIFFERENTIATE_DIFFERENTIATE_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Differentiates `forward` from its loss. Trainable parameters get a value of
/// kind `gradient` that `backward` adds to; values of `forward` that `backward`
/// reads become `saved`. The axes over which a gradient is a partial sum are
/// those of its sharding's `partial`; the optimizer pass completes it.
void differentiate(ir::Module& module);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DIFFERENTIATE_DIFFERENTIATE_H
