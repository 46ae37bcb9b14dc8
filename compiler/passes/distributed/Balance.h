// What a training step does with the numbers that routers have counted.

#ifndef RECIPEC_PASSES_DISTRIBUTED_BALANCE_H
#define RECIPEC_PASSES_DISTRIBUTED_BALANCE_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Adds to `begin` and `update` of a stage's Program, behind the optimizer's
/// ops: each bias that balances experts moves against their load over the
/// global batch (Wang et al. 2024, algorithm 1), and what had no place, at an
/// expert or on a rank, is added up over all ranks for the bindings `dropped`
/// and `overflow`.
void addBalancing(ir::Module& program);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DISTRIBUTED_BALANCE_H
