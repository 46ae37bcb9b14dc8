// Diagnostics of the passes are about lines of the user's.

#ifndef RECIPEC_DRIVER_USERPLACES_H
#define RECIPEC_DRIVER_USERPLACES_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::driver {

/// Moves what is said of a place in the standard library to the setting of the
/// user's that led there: the record in which a default stands, the `model`
/// whose text it is, else the recipe. The place in the library becomes a note.
void moveToUser(diag::Engine& engine, const recipe::Recipe& recipe,
                const SourceMap& sources);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_USERPLACES_H
