// The bucket pass: gathers sharded parameters and reduces sharded gradients
// layer by layer.

#ifndef RECIPEC_PASSES_DISTRIBUTED_BUCKET_H
#define RECIPEC_PASSES_DISTRIBUTED_BUCKET_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Replaces the parameters and gradients of regions without a full buffer
/// (Optimizer.h) by temporaries. Parameters are all-gathered before a layer
/// reads them; gradients are reduce-scattered, in the type of `comm.reduce`,
/// after a layer has added to them.
void bucket(ir::Module& program, const recipe::Recipe& recipe);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DISTRIBUTED_BUCKET_H
