// Loads the state of a checkpoint into the buffers of a rank, in any layout.

#ifndef RECIPERUN_CHECKPOINT_STATELOADER_H
#define RECIPERUN_CHECKPOINT_STATELOADER_H

#include "runtime/checkpoint/BufferAccess.h"
#include "runtime/checkpoint/StateReader.h"

namespace reciperun::checkpoint {

/// The part of a checkpoint that a run loads.
enum class Take {
  all,     // to resume: weights and moments
  weights, // to start: a missing adapter keeps its initial values
};

/// Checks that the checkpoint is of the plan's model: the same parameters with
/// the same shapes, and no others. The error names the first difference.
Status checkModel(const plan::Plan& plan, const StateReader& reader, Take take);

/// Fills the rank's parameters, its master weights and, with `all`, its shards
/// of the moments, converted to the plan's types, and its histories. The
/// checkpoint must have passed checkModel. Not collective: the result may
/// differ between ranks.
Status loadState(const plan::Plan& plan, int rank, StateReader& reader,
                 Take take, BufferAccess& buffers);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_STATELOADER_H
