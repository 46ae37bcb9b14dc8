// Sizes that 64-bit addresses or a list of steps cannot hold, and models that
// no time would suffice for.

#ifndef RECIPEC_PASSES_CHECK_CHECKSIZES_H
#define RECIPEC_PASSES_CHECK_CHECKSIZES_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Before anything is built: `cluster.ranks` and `batch.accumulation` are below
/// a million, far above any cluster and step, the model has at most 25,000 ops,
/// a thousand layers and more, which still compile in seconds, and a run counts
/// its steps in 32 bits.
void checkCounts(const recipe::Recipe& recipe, diag::Engine& engine);

/// All values of a Graph together stay below 2^56 bytes (64 PiB), so that no
/// later pass can overflow. Reported at the largest dimension of the largest
/// value.
void checkSizes(const ir::Module& graph, diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_CHECK_CHECKSIZES_H
