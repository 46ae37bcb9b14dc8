// Checks that a directory holds initial weights, or a checkpoint to resume
// from.

#ifndef RECIPEC_FILES_WEIGHTS_H
#define RECIPEC_FILES_WEIGHTS_H

#include "compiler/files/CheckInputs.h"
#include "compiler/files/Place.h"

namespace recipec::files {

/// Checks a checkpoint or a Hugging Face directory: `model.safetensors`, or its
/// index and every shard that the index names. Compares the directory's
/// config.json and the headers of its files with the model of `plan`, which was
/// made from `recipe`. Does not read values. A directory without config.json
/// gives a warning.
void checkWeights(const Place& place, const recipe::Recipe& recipe,
                  const reciperun::plan::Plan& plan, const SourceMap& sources,
                  Findings& found);

/// Checks a checkpoint to resume from. Weights without optimizer state are not
/// enough, and a plan that trains an adapter needs a checkpoint with it. The
/// checkpoint must be of the model of `plan`, which was made from `recipe`. A
/// checkpoint with all steps of the run gives a warning.
void checkCheckpoint(const Place& place, const recipe::Recipe& recipe,
                     const reciperun::plan::Plan& plan,
                     const SourceMap& sources, Findings& found);

} // namespace recipec::files

#endif // RECIPEC_FILES_WEIGHTS_H
