// How the ranks of a job communicate. Data only: the pass Connect decides it
// for all stages together, the plan states it, and the estimate adds up its
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

/// A connection of a group of ranks. Collectives of one group use several when
/// some overlap with kernels, or when kernels serve some.
struct GroupConnection {
  Transport transport = Transport::nccl;
  bool overlaps = false;   // its collectives run concurrently with kernels
  AxisSet axes;            // those with more than one rank
  std::vector<int> stages; // whose ranks are members; empty: all
  /// Whether ops or regions refer to the group. NCCL needs the connection of
  /// all ranks in any case.
  bool isUsed = false;
  std::vector<Traffic> traffic; // of all stages, each kind once
  int64_t largest = 0;          // bytes of the largest op on a rank
  /// The number of multiprocessors that NCCL may use; 0: no limit. A peer
  /// connection has the width for hosts on which peers cannot be mapped.
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
  int64_t commonBytes = 0;  // device memory of every rank beside what follows
  /// In the order of axes and stages; the first is of all ranks.
  std::vector<GroupConnection> groups;
  std::vector<LinkConnection> links; // in the order of links
};

} // namespace recipec::ir

#endif // RECIPEC_IR_CONNECTIONS_H
