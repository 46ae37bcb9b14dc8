// `reciperun checkpoint copy`: copies checkpoints between folders and object
// stores.

#ifndef RECIPERUN_TRAIN_CHECKPOINTCOPY_H
#define RECIPERUN_TRAIN_CHECKPOINTCOPY_H

#include "runtime/cli/Command.h"

namespace reciperun::train {

cli::Command checkpointCopyCommand();

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_CHECKPOINTCOPY_H
