// What a recipe may say and this version does not support.

#ifndef RECIPEC_PASSES_CHECK_CHECKLOWERED_H
#define RECIPEC_PASSES_CHECK_CHECKLOWERED_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Reports each setting, and each op or argument of an op, that no pass lowers;
/// all of them at once. Whether the model is lowered, so that its graph can be
/// built and the rest of the recipe checked on it.
bool checkLowered(const recipe::Recipe& recipe, diag::Engine& engine);

/// Whether the model's tokens leave states behind, which take a sequence from
/// its first token to its last.
bool hasStates(const recipe::Recipe& recipe);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_CHECK_CHECKLOWERED_H
