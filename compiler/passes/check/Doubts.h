// Warns about settings that compile but are unlikely to be intended.

#ifndef RECIPEC_PASSES_CHECK_DOUBTS_H
#define RECIPEC_PASSES_CHECK_DOUBTS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Reports warnings about a recipe that trains: `task = "sft"` on data without
/// answers, and a schedule whose warm-up or decay is longer than the run. The
/// step count of a run of epochs depends on its data; the runtime warns in that
/// case.
void findDoubts(const recipe::Recipe& recipe, diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_CHECK_DOUBTS_H
