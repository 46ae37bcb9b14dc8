// NCCL's configuration file for a machine.

#ifndef RECIPERUN_TOPOLOGY_NCCLCONF_H
#define RECIPERUN_TOPOLOGY_NCCLCONF_H

#include "runtime/topology/Machine.h"

#include <string>

namespace reciperun::topology {

/// The text of a file for `NCCL_CONF_FILE`: few variables, each below a comment
/// with its reason and where that was found or measured. What NCCL chooses well
/// by itself is left out.
std::string ncclConf(const Machine& machine);

} // namespace reciperun::topology

#endif // RECIPERUN_TOPOLOGY_NCCLCONF_H
