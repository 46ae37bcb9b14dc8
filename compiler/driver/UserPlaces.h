// Moves diagnostics of the passes to lines of the user's files.

#ifndef RECIPEC_DRIVER_USERPLACES_H
#define RECIPEC_DRIVER_USERPLACES_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::driver {

/// Moves a diagnostic from the standard library to the user's setting that
/// caused it: for a default, the enclosing record; for a model's text, the
/// setting `model`; otherwise the recipe. The place in the library becomes a
/// note. An error about sizes at a parent's value moves to a size that the
/// recipe itself sets, if one is involved.
void moveToUser(diag::Engine& engine, const recipe::Recipe& recipe,
                const SourceMap& sources);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_USERPLACES_H
