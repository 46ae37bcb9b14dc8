// How the ranks of a job communicate. Data only: the pass Connect determines it
// for all stages together, the plan contains it, and the estimate adds up its
// bytes.

#ifndef RECIPEC_IR_CONNECTIONS_H
#define RECIPEC_IR_CONNECTIONS_H

#include "compiler/ir/Ir.h"
#include "runtime/ops/ConnectionKinds.h"

#include <cstdint>
#include <vector>

namespace recipec::ir {

using reciperun::ops::Traffic;
using reciperun::ops::Transport;

/// A connection of a group of ranks. A group has several connections if some of
/// its collectives overlap kernels, or if kernels with direct access to the
/// other ranks' memory run some.
struct GroupConnection {
  Transport transport = Transport::nccl;
  bool overlaps = false;   // its collectives run concurrently with kernels
  AxisSet axes;            // of the group, each with more than one rank
  std::vector<int> stages; // the members are their ranks; empty: all
  /// Whether ops or regions refer to the group. NCCL always needs the
  /// connection of all ranks.
  bool isUsed = false;
  std::vector<Traffic> traffic; // of all stages, each kind once
  int64_t largest = 0;          // bytes of the largest op on a rank
  /// The number of multiprocessors that NCCL may use; 0: no limit. A peer
  /// connection also has a width, for hosts on which ranks cannot map each
  /// other's memory.
  int width = 0;
  std::vector<int64_t> bytes; // device memory of a rank, by stage
};

/// The connection of each rank of a stage to its counterpart in another stage,
/// for the messages of a link.
struct LinkConnection {
  int link = 0;
  int from = 0, to = 0; // stages
  int width = 0;
  int64_t senderBytes = 0, receiverBytes = 0; // device memory of a rank
};

struct Connections {
  int64_t ranksPerNode = 1; // consecutive ranks that share a host
  bool packs = false;       // some op splits along a dimension after the first
  int64_t commonBytes = 0;  // of every rank, besides groups and links
  /// In the order of axes and stages; the first is of all ranks.
  std::vector<GroupConnection> groups;
  std::vector<LinkConnection> links; // in the order of links
};

} // namespace recipec::ir

#endif // RECIPEC_IR_CONNECTIONS_H
