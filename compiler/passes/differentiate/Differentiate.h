// Adds the function `backward` to a Program.

#ifndef RECIPEC_PASSES_DIFFERENTIATE_DIFFERENTIATE_H
#define RECIPEC_PASSES_DIFFERENTIATE_DIFFERENTIATE_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Differentiates `forward` from its loss. Trainable parameters get a value of
/// kind `gradient` that `backward` accumulates into; values of `forward` that
/// `backward` reads become `saved`. A gradient's sharding has the axes of its
/// partial sum in `partial`; the optimizer pass reduces it.
void differentiate(ir::Module& module);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DIFFERENTIATE_DIFFERENTIATE_H
