// Lets a matrix product add to what is there instead of an op of its own.

#ifndef RECIPEC_PASSES_DIFFERENTIATE_ACCUMULATE_H
#define RECIPEC_PASSES_DIFFERENTIATE_ACCUMULATE_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// a + linear(x, w) → linear(x, w) on top of a where nothing else reads a, and
/// linear_add(x, w, a) where something does: saves an op, a buffer and three
/// passes over memory, or two. After differentiation, which wants every value
/// written once.
void accumulate(ir::Module& program);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DIFFERENTIATE_ACCUMULATE_H
