// Checks for settings that are valid in a recipe but not supported by this
// version.

#ifndef RECIPEC_PASSES_CHECK_CHECKLOWERED_H
#define RECIPEC_PASSES_CHECK_CHECKLOWERED_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Reports every setting, op and argument of an op that no pass lowers. Returns
/// whether the model is lowered, so that the caller can build its Graph and
/// check the rest of the recipe on it.
bool checkLowered(const recipe::Recipe& recipe, diag::Engine& engine);

/// Whether the model has state-space layers, which need each sequence from its
/// first token to its last.
bool hasStates(const recipe::Recipe& recipe);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_CHECK_CHECKLOWERED_H
