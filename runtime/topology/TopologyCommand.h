// `reciperun topology`: the devices of this machine, or of a file of NCCL's.

#ifndef RECIPERUN_TOPOLOGY_TOPOLOGYCOMMAND_H
#define RECIPERUN_TOPOLOGY_TOPOLOGYCOMMAND_H

#include "runtime/cli/Command.h"

namespace reciperun::topology {

/// Exit codes: 0 done, 1 failed or an error in the file.
cli::Command topologyCommand();

} // namespace reciperun::topology

#endif // RECIPERUN_TOPOLOGY_TOPOLOGYCOMMAND_H
