// The overlap pass: collectives of buckets overlap the ops of other layers.

#ifndef RECIPEC_PASSES_DISTRIBUTED_OVERLAP_H
#define RECIPEC_PASSES_DISTRIBUTED_OVERLAP_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Splits the collectives of the bucket pass into a start and a done.
/// Parameters are gathered while the previous layer computes, gradients are
/// reduced while the next layer does.
void overlap(ir::Module& program);

/// Whether `comm.overlap` enables the pass, which is the default.
bool overlaps(const recipe::Recipe& recipe);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DISTRIBUTED_OVERLAP_H
