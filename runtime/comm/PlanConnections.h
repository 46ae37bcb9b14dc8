// Which connections between GPUs a plan wants, and how wide each is.
//
// What NCCL keeps for a connection grows with the multiprocessors that it may
// take, by megabytes for each. So those are no more than carry what goes by it.
// compiler/cost/Connections.cpp counts the bytes.

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

/// What ops want of a group.
struct GroupUse {
  int64_t bytes = 0;       // the most of a rank that one of them names
  bool isExchange = false; // each rank gives something to each
};

/// A link of messages from a stage to another.
struct LinkUse {
  int link = 0, from = 0, to = 0;
  auto operator<=>(const LinkUse&) const = default;
};

/// Of all stages, since all ranks take part when connections are made.
struct PlanConnections {
  std::map<int, GroupUse> groups;     // by number
  std::map<int, GroupUse> background; // of what runs beside kernels
  std::map<int, GroupUse> barriers;   // whose kernels may meet
  std::set<LinkUse> links;
  bool packs = false; // parts along other dimensions than the first
};
PlanConnections connectionsOf(const plan::Plan& plan);

/// What both want.
void join(GroupUse& use, const GroupUse& other);

/// The axes of more than one rank, and the stages, that a group spans: groups
/// of one extent have the same members.
using Extent = std::pair<std::vector<std::string>, std::vector<int>>;
Extent extentOf(const plan::Mesh& mesh, const plan::Group& group);
Extent extentOfAll(const plan::Mesh& mesh);

/// What all groups of each extent are used for.
std::map<Extent, GroupUse> usesByExtent(const plan::Mesh& mesh,
                                        const std::map<int, GroupUse>& groups);

/// The most streams that connections take, with the two that NCCL has for each
/// communicator.
int streamsOf(const plan::Mesh& mesh, const PlanConnections& connections);

/// The multiprocessors that a group's communicator may take
/// (sizes/ConnectionWidths.h); `ranksOnHost` in a row share a host.
int blocksFor(const GroupUse& use, const std::vector<int>& members,
              int ranksOnHost);

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_PLANCONNECTIONS_H
