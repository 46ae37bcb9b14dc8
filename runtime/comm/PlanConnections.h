// The connections between GPUs that a plan needs, and the width of each.
//
// NCCL's memory for a connection grows by megabytes with each multiprocessor
// that it may use. The width is therefore no larger than the connection's
// traffic needs. compiler/cost/Connections.cpp counts the bytes.

#ifndef RECIPERUN_COMM_PLANCONNECTIONS_H
#define RECIPERUN_COMM_PLANCONNECTIONS_H

#include "runtime/plan/Plan.h"

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::comm {

/// What ops need from a group.
struct GroupUse {
  int64_t bytes = 0;       // the largest buffer of one op on a rank
  bool isExchange = false; // whether each rank sends a part to each other rank
};

/// A link for messages from one stage to another.
struct LinkUse {
  int link = 0, from = 0, to = 0;
  auto operator<=>(const LinkUse&) const = default;
};

/// The connections of all stages: all ranks take part when connections are
/// made.
struct PlanConnections {
  std::map<int, GroupUse> groups;     // by index in the mesh
  std::map<int, GroupUse> background; // overlapping with kernels
  std::map<int, GroupUse> barriers;   // kernels may use barriers
  std::set<LinkUse> links;
  bool packs = false; // some op splits along a dimension after the first
};
PlanConnections connectionsOf(const plan::Plan& plan);

/// Widens `use` to cover `other` too.
void join(GroupUse& use, const GroupUse& other);

/// The axes of more than one rank, and the stages, that a group spans. Groups
/// of the same extent have the same members.
using Extent = std::pair<std::vector<std::string>, std::vector<int>>;
Extent extentOf(const plan::Mesh& mesh, const plan::Group& group);
Extent extentOfAll(const plan::Mesh& mesh);

/// The joint use of all groups of each extent.
std::map<Extent, GroupUse> usesByExtent(const plan::Mesh& mesh,
                                        const std::map<int, GroupUse>& groups);

/// The largest number of streams that connections take, including the two that
/// NCCL has per communicator.
int streamsOf(const plan::Mesh& mesh, const PlanConnections& connections);

/// The number of multiprocessors that a group's communicator may use
/// (sizes/ConnectionWidths.h). Each `ranksOnHost` consecutive ranks share a
/// host.
int blocksFor(const GroupUse& use, const std::vector<int>& members,
              int ranksOnHost);

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_PLANCONNECTIONS_H
