// Checks for sizes that exceed 64-bit addresses or the limits of a plan.

#ifndef RECIPEC_PASSES_CHECK_CHECKSIZES_H
#define RECIPEC_PASSES_CHECK_CHECKSIZES_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Runs before the Graph is built. Limits: a million for `cluster.ranks` and
/// 100,000 for `batch.accumulation`, far above any cluster and step; 25,000 ops
/// for the model, which is more than a thousand layers and still compiles in
/// seconds; 32 bits for the step count of a run.
void checkCounts(const recipe::Recipe& recipe, diag::Engine& engine);

/// Checks that all values of a Graph together stay below 2^56 bytes (64 PiB),
/// so that no later pass overflows. Reports the largest dimension of the
/// largest value.
void checkSizes(const ir::Module& graph, diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_CHECK_CHECKSIZES_H
