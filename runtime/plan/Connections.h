// The table of the connections between the GPUs of a job. The compiler chooses
// the connections for all stages together.

#ifndef RECIPERUN_PLAN_CONNECTIONS_H
#define RECIPERUN_PLAN_CONNECTIONS_H

#include "runtime/ops/ConnectionKinds.h"

#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::plan {

using ops::Traffic;
using ops::Transport;

/// A connection between the ranks of a group. A group has more than one when
/// some of its collectives overlap with kernels, or when peer kernels run some
/// of them.
struct GroupConnection {
  Transport transport = Transport::nccl;
  bool overlaps = false; // its collectives run concurrently with kernels
  std::vector<std::string> axes;     // those with more than one rank
  std::vector<int> stages = {};      // whose ranks are members; empty: all
  std::vector<int> groups = {};      // those of the mesh that it serves
  std::vector<Traffic> traffic = {}; // of the ops of all stages
  int64_t largest = 0;               // bytes of the largest op on a rank
  /// The number of multiprocessors that NCCL may use; 0: no limit. For another
  /// transport it applies when the GPUs cannot map each other's memory and NCCL
  /// replaces it.
  int width = 0;
  std::vector<int64_t> bytes = {}; // device memory of a rank, by stage
};

/// The connections of a link: they connect each rank of a stage to the rank of
/// another stage with the same coordinates on all other axes.
struct LinkConnection {
  int link = 0;
  int from = 0, to = 0; // stages
  int width = 0;
  int64_t senderBytes = 0, receiverBytes = 0; // device memory of a rank
};

struct Connections {
  int ranksPerNode = 1;    // consecutive ranks that share a host
  bool packs = false;      // some op splits along a dimension after the first
  int64_t commonBytes = 0; // further device memory of a rank
  std::vector<GroupConnection> groups; // the first is of all ranks, by NCCL
  std::vector<LinkConnection> links;
};

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_CONNECTIONS_H
