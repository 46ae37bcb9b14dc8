// Whether a directory holds weights to start from, or a checkpoint to go on
// from.

#ifndef RECIPEC_FILES_WEIGHTS_H
#define RECIPEC_FILES_WEIGHTS_H

#include "compiler/files/CheckInputs.h"
#include "compiler/files/Place.h"

namespace recipec::files {

/// A checkpoint, or a Hugging Face directory: `model.safetensors`, or its index
/// and every shard that the index names. The directory's config.json and the
/// headers of its files are compared with the model of `plan`, which was made
/// of `recipe`; values are read by the run. A directory without config.json is
/// a doubt.
void checkWeights(const Place& place, const recipe::Recipe& recipe,
                  const reciperun::plan::Plan& plan, const SourceMap& sources,
                  Findings& found);

/// A checkpoint: weights alone have no moments to go on with.
void checkCheckpoint(const Place& place, diag::Engine& engine);

} // namespace recipec::files

#endif // RECIPEC_FILES_WEIGHTS_H
