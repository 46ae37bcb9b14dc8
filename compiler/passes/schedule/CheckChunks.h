// Whether the chunks of a pipeline share out the layers of the model.

#ifndef RECIPEC_PASSES_SCHEDULE_CHECKCHUNKS_H
#define RECIPEC_PASSES_SCHEDULE_CHECKCHUNKS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Before anything is built: layers that are to be as many in each chunk divide
/// so, and several chunks share out the layers that `forward` runs. What a list
/// of `parallel.layers` has to add up to the schema says.
void checkChunks(const recipe::Recipe& recipe, diag::Engine& engine);

/// Ways out for layers that do not fit the chunks: a list of `parallel.layers`
/// that is as even as can be, and other `pp`.
diag::Proposal otherChunks(const recipe::Recipe& recipe);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_SCHEDULE_CHECKCHUNKS_H
