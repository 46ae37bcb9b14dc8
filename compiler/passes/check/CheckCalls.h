// Checks for numbers in a model's calls that no kernel can compute with.

#ifndef RECIPEC_PASSES_CHECK_CHECKCALLS_H
#define RECIPEC_PASSES_CHECK_CHECKCALLS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Runs before the Graph is built: checks that the formulas in
/// stdlib/ops.recipe are defined for the arguments of the ops, whatever the
/// tensors contain. Bounds that depend on dimensions are checked once these are
/// known. A value that several calls read is reported once.
void checkCalls(const recipe::Recipe& recipe, diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_CHECK_CHECKCALLS_H
