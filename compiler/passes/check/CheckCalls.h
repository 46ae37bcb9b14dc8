// Numbers in the calls of a model that no kernel could compute with.

#ifndef RECIPEC_PASSES_CHECK_CHECKCALLS_H
#define RECIPEC_PASSES_CHECK_CHECKCALLS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Before anything is built: arguments of ops lie where their formulas of
/// stdlib/ops.recipe are defined, whatever a tensor holds. Bounds that depend
/// on dimensions are checked where these are known. A value that several calls
/// read is reported once.
void checkCalls(const recipe::Recipe& recipe, diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_CHECK_CHECKCALLS_H
