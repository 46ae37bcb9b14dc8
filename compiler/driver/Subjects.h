// Names the recipes that a diagnostic is about when a command compiles several.

#ifndef RECIPEC_DRIVER_SUBJECTS_H
#define RECIPEC_DRIVER_SUBJECTS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/recipes/Select.h"

#include <vector>

namespace recipec::driver {

/// Adds a note, "of recipe `big_smoke`", to each diagnostic of `engine` that
/// only some of the `compiled` recipes and points have. The diagnostics must be
/// arranged.
void noteSubjects(diag::Engine& engine,
                  const std::vector<sema::Selection>& compiled);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_SUBJECTS_H
