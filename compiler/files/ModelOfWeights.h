// Compares the config.json of weights with the recipe's model.

#ifndef RECIPEC_FILES_MODELOFWEIGHTS_H
#define RECIPEC_FILES_MODELOFWEIGHTS_H

#include "compiler/files/Place.h"
#include "runtime/plan/Plan.h"

namespace recipec::files {

/// Compares the config.json in the folder of `place` with the model, as the run
/// does. Reports all keys that differ as one error, with the model's fields for
/// them, and proposes the file's values for these fields. Returns false after
/// an error.
bool checkConfig(const Place& place, const recipe::Recipe& recipe,
                 const reciperun::plan::Plan& plan, const SourceMap& sources,
                 diag::Engine& engine);

/// Does the same with the configuration in the manifest of a checkpoint. A
/// damaged manifest is left to the run.
bool checkManifest(const Place& place, const recipe::Recipe& recipe,
                   const reciperun::plan::Plan& plan, const SourceMap& sources,
                   diag::Engine& engine);

} // namespace recipec::files

#endif // RECIPEC_FILES_MODELOFWEIGHTS_H
