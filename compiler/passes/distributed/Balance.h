// Adds the ops of a training step that use the counts of routers.

#ifndef RECIPEC_PASSES_DISTRIBUTED_BALANCE_H
#define RECIPEC_PASSES_DISTRIBUTED_BALANCE_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Adds ops to `begin` and `update` of a stage's Program, after the optimizer's
/// ops: each bias that balances experts moves against their load over the
/// global batch (Wang et al. 2024, algorithm 1). The rows that exceeded the
/// capacity of an expert or of a rank are summed over all ranks for the
/// bindings `dropped` and `overflow`.
void addBalancing(ir::Module& program);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DISTRIBUTED_BALANCE_H
