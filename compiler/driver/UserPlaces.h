// Moves diagnostics of the passes to lines of the user's files.

#ifndef RECIPEC_DRIVER_USERPLACES_H
#define RECIPEC_DRIVER_USERPLACES_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::driver {

/// Moves a diagnostic in the standard library to the user's setting that caused
/// it. For a default that is the enclosing record, for a model's text the
/// setting `model`, else the recipe. The place in the library becomes a note.
/// Moves an error about sizes at a parent's value to one of the recipe itself
/// that has a part in it.
void moveToUser(diag::Engine& engine, const recipe::Recipe& recipe,
                const SourceMap& sources);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_USERPLACES_H
