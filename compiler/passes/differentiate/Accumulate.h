// Fuses adds into matmuls that accumulate.

#ifndef RECIPEC_PASSES_DIFFERENTIATE_ACCUMULATE_H
#define RECIPEC_PASSES_DIFFERENTIATE_ACCUMULATE_H

#include "compiler/ir/Ir.h"
#include "runtime/ops/OpKind.h"

#include <set>

namespace recipec::passes {

/// a + linear(x, w) becomes a linear(x, w) that accumulates into a when nothing
/// else reads a, and linear_add(x, w, a) otherwise. This saves an op, a buffer
/// and two or three passes over memory. Runs after differentiation, which
/// requires that every value is written once. `matmuls` are the ops that are
/// fused with adds.
void accumulate(ir::Module& program,
                std::set<ir::OpKind> matmuls = {ir::OpKind::Linear,
                                                ir::OpKind::ScaledMatmul});

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DIFFERENTIATE_ACCUMULATE_H
