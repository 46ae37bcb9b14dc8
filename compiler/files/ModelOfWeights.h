// Whether the config.json beside weights is of the recipe's model.

#ifndef RECIPEC_FILES_MODELOFWEIGHTS_H
#define RECIPEC_FILES_MODELOFWEIGHTS_H

#include "compiler/files/Place.h"
#include "runtime/plan/Plan.h"

namespace recipec::files {

/// Compares the config.json in the folder of `place` as the run does. Reports
/// all keys that differ as one error, with the fields of the model that they
/// follow from, and proposes the file's values for these. False with an error.
bool checkConfig(const Place& place, const recipe::Recipe& recipe,
                 const reciperun::plan::Plan& plan, const SourceMap& sources,
                 diag::Engine& engine);

} // namespace recipec::files

#endif // RECIPEC_FILES_MODELOFWEIGHTS_H
