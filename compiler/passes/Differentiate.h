// Adds the function `backward` to a Program.

#ifndef RECIPEC_PASSES_DIFFERENTIATE_H
#define RECIPEC_PASSES_DIFFERENTIATE_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Differentiates `forward` from its loss. Trainable parameters get a value of
/// kind `gradient` that `backward` adds to; values of `forward` that `backward`
/// reads become `saved`. Gradients whose sharding is partial over axes other
/// than the data-parallel one are all-reduced in place at the start of the
/// function `update`, which is made if absent; the sum over dp, if any, is left
/// in their sharding's `partial`.
void differentiate(ir::Module& module);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DIFFERENTIATE_H
