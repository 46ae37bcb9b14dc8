// What a recipe's task is.

#ifndef RECIPEC_RECIPE_TASK_H
#define RECIPEC_RECIPE_TASK_H

#include "compiler/recipe/Recipe.h"

namespace recipec::recipe {

/// Whether the recipe's task is to answer prompts, `generate` or `serve`, and
/// not to train.
bool serves(const Recipe& recipe);

} // namespace recipec::recipe

#endif // RECIPEC_RECIPE_TASK_H
