// A machine as text and as JSON.

#ifndef RECIPERUN_TOPOLOGY_DRAW_H
#define RECIPERUN_TOPOLOGY_DRAW_H

#include "runtime/topology/Machine.h"
#include "runtime/topology/NcclXml.h"

#include <string>
#include <vector>

namespace reciperun::topology {

/// A line about the machine, the matrix of the paths between its GPUs and NICs
/// as `nvidia-smi topo -m` has it, and a tree of its NUMA nodes, switches and
/// devices.
std::string drawingOf(const Machine& machine);

/// The matrix alone: rows and columns are the GPUs and then the NICs.
std::vector<std::vector<std::string>> pathsOf(const Machine& machine);

/// An object with `host`, `driver`, `cpu`, `numa_nodes`, `switches`, `gpus`,
/// `nics`, `paths` (the matrix, in the order of GPUs and NICs) and `remarks`.
/// Numbers that are unknown are null.
std::string toJson(const Machine& machine);

/// The machine of a file as toJson gives it, with `findings`.
std::string toJson(const Machine& machine,
                   const std::vector<Finding>& findings);

} // namespace reciperun::topology

#endif // RECIPERUN_TOPOLOGY_DRAW_H
