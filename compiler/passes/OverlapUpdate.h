// What ranks exchange once a step runs beside the last backward pass, the
// optimizer and the first forward pass.

#ifndef RECIPEC_PASSES_OVERLAPUPDATE_H
#define RECIPEC_PASSES_OVERLAPUPDATE_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Whether `comm.overlap` asks for it, and nothing stands against it: what `tp`
/// and `cp` exchange beside the ops of a pass goes by the same copies, and
/// would wait behind those of whole layers.
bool overlapsUpdate(const recipe::Recipe& recipe);

/// Cuts the collectives of regions that ranks keep whole in two: gradients are
/// on their way while the last of `microBatches` goes backward, parameters
/// while other regions are stepped, and while the next first one goes forward.
/// Between steps ranks may then have others' parts of parameters as they were
/// before. Behind the bucket pass.
void overlapUpdate(ir::Module& program, int64_t microBatches);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_OVERLAPUPDATE_H
