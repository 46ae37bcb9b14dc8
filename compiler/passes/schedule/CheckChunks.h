// Checks that the chunks of a pipeline divide the layers of the model.

#ifndef RECIPEC_PASSES_SCHEDULE_CHECKCHUNKS_H
#define RECIPEC_PASSES_SCHEDULE_CHECKCHUNKS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Runs before the Graph is built: an even split must divide the layers, and
/// several chunks must cover exactly the layers that `forward` runs. The schema
/// checks the sum of a `parallel.layers` list.
void checkChunks(const recipe::Recipe& recipe, diag::Engine& engine);

/// Fixes for layers that do not fit the chunks: a `parallel.layers` list that
/// is as even as possible, and other values of `pp`.
diag::Proposal otherChunks(const recipe::Recipe& recipe);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_SCHEDULE_CHECKCHUNKS_H
