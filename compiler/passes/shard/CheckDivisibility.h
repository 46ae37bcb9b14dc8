// Checks that every sharded dimension is a multiple of its number of shards.

#ifndef RECIPEC_PASSES_SHARD_CHECKDIVISIBILITY_H
#define RECIPEC_PASSES_SHARD_CHECKDIVISIBILITY_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"
#include "compiler/passes/shard/Shard.h"

namespace recipec::passes {

/// Reports each dimension that its axes do not divide, at the degree in the
/// user's text: "`tp` = 3 does not divide `heads` = 32".
void checkDivisibility(const ir::Module& graph, const Layout& layout,
                       diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_SHARD_CHECKDIVISIBILITY_H
