// The bucket pass: brings the parameters and takes the gradients of which ranks
// keep no more than parts, layer by layer.

#ifndef RECIPEC_PASSES_DISTRIBUTED_BUCKET_H
#define RECIPEC_PASSES_DISTRIBUTED_BUCKET_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Puts temporaries in the place of the parameters and gradients of regions
/// without a whole buffer (Optimizer.h): gathered before a layer reads them,
/// reduced and scattered, in the type of `comm.reduce`, behind a layer that has
/// added to them.
void bucket(ir::Module& program, const recipe::Recipe& recipe);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DISTRIBUTED_BUCKET_H
