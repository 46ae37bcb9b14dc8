// The sections of a plan that come from the recipe's settings alone.

#ifndef RECIPEC_EMIT_SETTINGS_H
#define RECIPEC_EMIT_SETTINGS_H

#include "compiler/recipe/Recipe.h"
#include "runtime/plan/Plan.h"

namespace recipec::emit {

/// All of `data` but the vocabulary's size, which the Program knows.
reciperun::plan::Data dataSection(const recipe::Recipe& recipe);
reciperun::plan::Train trainSection(const recipe::Recipe& recipe);
reciperun::plan::Checkpoint checkpointSection(const recipe::Recipe& recipe);

/// A setting that may be `none`: empty, -1.
std::string stringOr(const recipe::Recipe& recipe, std::string_view path);

} // namespace recipec::emit

#endif // RECIPEC_EMIT_SETTINGS_H
