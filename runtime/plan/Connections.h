// How the ranks of a job on several GPUs communicate: a table that the compiler
// has decided for all stages together.

#ifndef RECIPERUN_PLAN_CONNECTIONS_H
#define RECIPERUN_PLAN_CONNECTIONS_H

#include "runtime/ops/ConnectionKinds.h"

#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::plan {

using ops::Traffic;
using ops::Transport;

/// A connection of the ranks of a group. A group has several when some of its
/// collectives overlap with kernels, or when kernels serve some.
struct GroupConnection {
  Transport transport = Transport::nccl;
  bool overlaps = false; // its collectives run concurrently with kernels
  std::vector<std::string> axes;     // those with more than one rank
  std::vector<int> stages = {};      // whose ranks are members; empty: all
  std::vector<int> groups = {};      // those of the mesh that it serves
  std::vector<Traffic> traffic = {}; // of the ops of all stages
  int64_t largest = 0;               // bytes of the largest op on a rank
  /// The number of multiprocessors that NCCL may use; 0: no limit. With another
  /// transport it counts where GPUs cannot map each other's memory.
  int width = 0;
  std::vector<int64_t> bytes = {}; // device memory of a rank, by stage
};

/// The connection of each rank of a stage to the rank of another stage with the
/// same coordinates on all other axes, for the messages of a link.
struct LinkConnection {
  int link = 0;
  int from = 0, to = 0; // stages
  int width = 0;
  int64_t senderBytes = 0, receiverBytes = 0; // device memory of a rank
};

struct Connections {
  int ranksPerNode = 1;    // consecutive ranks that share a host
  bool packs = false;      // some op splits along a dimension after the first
  int64_t commonBytes = 0; // device memory of a rank beside what follows
  std::vector<GroupConnection> groups; // the first is of all ranks, by NCCL
  std::vector<LinkConnection> links;
};

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_CONNECTIONS_H
