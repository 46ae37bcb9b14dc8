// The state of a checkpoint into the buffers of a rank, in any layout.

#ifndef RECIPERUN_CHECKPOINT_STATELOADER_H
#define RECIPERUN_CHECKPOINT_STATELOADER_H

#include "runtime/checkpoint/BufferAccess.h"
#include "runtime/checkpoint/StateReader.h"

namespace reciperun::checkpoint {

/// What a run takes from a checkpoint.
enum class Take {
  all,     // to go on: weights and moments
  weights, // to start with: an adapter that it lacks keeps its first values
};

/// Whether the checkpoint is of the plan's model: the same parameters, of the
/// same shapes, and no further ones. The error names the first that differs.
Status checkModel(const plan::Plan& plan, const StateReader& reader, Take take);

/// Fills the rank's parameters, its master weights and, with `all`, its part of
/// the moments, converted to the plan's types, and its histories. The
/// checkpoint has passed checkModel. No collective: ranks may differ in the
/// outcome.
Status loadState(const plan::Plan& plan, int rank, StateReader& reader,
                 Take take, BufferAccess& buffers);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_STATELOADER_H
