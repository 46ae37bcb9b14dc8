// Says which recipes a diagnostic is about, where a command compiles several.

#ifndef RECIPEC_DRIVER_SUBJECTS_H
#define RECIPEC_DRIVER_SUBJECTS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/recipes/Select.h"

#include <vector>

namespace recipec::driver {

/// Adds a note to each diagnostic of `engine`, which is arranged, that only
/// some of the `compiled` recipes and points have: "of recipe `big_smoke`".
void noteSubjects(diag::Engine& engine,
                  const std::vector<sema::Selection>& compiled);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_SUBJECTS_H
