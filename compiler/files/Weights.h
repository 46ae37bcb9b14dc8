// Whether a directory holds weights to start from, or a checkpoint to go on
// from.

#ifndef RECIPEC_FILES_WEIGHTS_H
#define RECIPEC_FILES_WEIGHTS_H

#include "compiler/files/Place.h"

namespace recipec::files {

/// A checkpoint, or a Hugging Face directory: `model.safetensors`, or its index
/// and every shard that the index names. Headers are read by the run.
/// Where there is a `config.json`, its sizes are those of the recipe's model.
void checkWeights(const Place& place, const recipe::Recipe& recipe,
                  diag::Engine& engine);

/// A checkpoint: weights alone have no moments to go on with.
void checkCheckpoint(const Place& place, diag::Engine& engine);

} // namespace recipec::files

#endif // RECIPEC_FILES_WEIGHTS_H
