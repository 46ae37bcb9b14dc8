// Adds the ops of a training step that use the counts of routers.

#ifndef RECIPEC_PASSES_DISTRIBUTED_BALANCE_H
#define RECIPEC_PASSES_DISTRIBUTED_BALANCE_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Adds ops to `begin` and `update` of a stage's Program, after the optimizer's
/// ops. They update each bias that balances experts from the load of the
/// experts over the global batch (Wang et al. 2024, algorithm 1). They also sum
/// over all ranks the rows that exceeded the capacity of an expert or of a
/// rank, for the bindings `dropped` and `overflow`.
void addBalancing(ir::Module& program);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DISTRIBUTED_BALANCE_H
