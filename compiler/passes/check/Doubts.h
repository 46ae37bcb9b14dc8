// Settings that compile and are hardly meant.

#ifndef RECIPEC_PASSES_CHECK_DOUBTS_H
#define RECIPEC_PASSES_CHECK_DOUBTS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Reports warnings about a recipe that is trained: `task = "sft"` on data
/// without answers, and a schedule whose warm-up or decay does not fit into the
/// steps of the run. A run of epochs knows its steps when it has read its data,
/// and warns then.
void findDoubts(const recipe::Recipe& recipe, diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_CHECK_DOUBTS_H
