// The overlap pass: collectives of buckets run beside the ops of other layers.

#ifndef RECIPEC_PASSES_DISTRIBUTED_OVERLAP_H
#define RECIPEC_PASSES_DISTRIBUTED_OVERLAP_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Cuts what the bucket pass has made in two, a start and a done: parameters
/// are on their way while the layer before computes, gradients while the layer
/// behind does.
void overlap(ir::Module& program);

/// Whether `comm.overlap` asks for it, as it does by default.
bool overlaps(const recipe::Recipe& recipe);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DISTRIBUTED_OVERLAP_H
