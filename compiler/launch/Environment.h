// Findings on `launch.env` of a recipe.

#ifndef RECIPEC_LAUNCH_ENVIRONMENT_H
#define RECIPEC_LAUNCH_ENVIRONMENT_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::launch {

/// Warns about variables of NCCL that do nothing, are outdated, harm, or
/// contradict each other; see compiler/environment.
void doubtEnvironment(const recipe::Recipe& recipe, diag::Engine& engine);

} // namespace recipec::launch

#endif // RECIPEC_LAUNCH_ENVIRONMENT_H
