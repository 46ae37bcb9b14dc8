// The sections of a plan that depend only on the recipe.

#ifndef RECIPEC_EMIT_SETTINGS_H
#define RECIPEC_EMIT_SETTINGS_H

#include "compiler/recipe/Recipe.h"
#include "runtime/plan/Plan.h"

namespace recipec::emit {

/// All of `data` except the vocabulary size, which comes from the Program.
reciperun::plan::Data dataSection(const recipe::Recipe& recipe);
reciperun::plan::Train trainSection(const recipe::Recipe& recipe);
reciperun::plan::Checkpoint checkpointSection(const recipe::Recipe& recipe);

/// A string setting; empty when it is `none`.
std::string stringOr(const recipe::Recipe& recipe, std::string_view path);

} // namespace recipec::emit

#endif // RECIPEC_EMIT_SETTINGS_H
