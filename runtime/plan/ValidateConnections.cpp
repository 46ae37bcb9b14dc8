// The table of connections: it exists when several GPUs communicate, its
// entries name groups and links of the plan, and every collective and message
// has a connection.

#include "runtime/ops/OpTable.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/Validate.h"
#include "runtime/sizes/ConnectionWidths.h"

#include <algorithm>
#include <set>

namespace reciperun::plan {
namespace {

class TableValidation {
public:
  TableValidation(const Plan& plan, const Connections& table)
      : plan(plan), table(table), stages(int(plan.stages.size())) {}

  Status run() {
    if (table.ranksPerNode < 1)
      return damaged("the connections are for " +
                     std::to_string(table.ranksPerNode) + " ranks a node");
    if (table.commonBytes < 0)
      return damaged("the connections take " +
                     std::to_string(table.commonBytes) + " bytes in common");
    for (size_t i = 0; i < table.groups.size(); ++i)
      RECIPERUN_TRY(connection(table.groups[i], int(i)));
    if (table.groups.empty() || !isOfAll(table.groups.front()))
      return damaged("the first connection is not NCCL's of all ranks");
    for (const LinkConnection& link : table.links)
      RECIPERUN_TRY(connection(link));
    for (int stage = 0; stage < stages; ++stage)
      RECIPERUN_TRY(serves(stage));
    return Status::ok();
  }

private:
  Status width(const std::string& who, int width) const {
    if (width >= 0 && width <= sizes::mostBlocks)
      return Status::ok();
    return damaged(who + " has width " + std::to_string(width) +
                   ", which is not from 0 to " +
                   std::to_string(sizes::mostBlocks));
  }

  bool isOfAll(const GroupConnection& connection) const {
    return connection.transport == Transport::nccl && !connection.overlaps &&
           connection.stages.empty() &&
           groupSize(plan.mesh, groupOf(connection)) == plan.mesh.ranks;
  }

  static Group groupOf(const GroupConnection& connection) {
    return {"", connection.axes, connection.stages};
  }

  // ---- entries

  Status connection(const GroupConnection& connection, int number) {
    const std::string who = "connection " + std::to_string(number);
    int last = -1;
    for (const std::string& axis : connection.axes) {
      const int index = axisIndex(plan.mesh, axis);
      if (index < 0 || plan.mesh.axes[size_t(index)].size < 2)
        return damaged(who + " spans " + quoted(axis) +
                       ", which is no axis of several ranks");
      if (index <= last)
        return damaged(who + " lists its axes in another order than the mesh");
      last = index;
    }
    for (int stage : connection.stages)
      if (stage < 0 || stage >= stages)
        return damaged(who + " has ranks of stage " + std::to_string(stage) +
                       " of " + std::to_string(stages));
    RECIPERUN_TRY(width(who, connection.width));
    if (connection.largest < 0)
      return damaged(who + " has an op of " +
                     std::to_string(connection.largest) + " bytes");
    if (int(connection.bytes.size()) != stages ||
        std::ranges::any_of(connection.bytes,
                            [](int64_t bytes) { return bytes < 0; }))
      return damaged(who + " does not say how many bytes it takes in each of " +
                     std::to_string(stages) + " stages");
    RECIPERUN_TRY(transport(who, connection));
    for (int group : connection.groups)
      RECIPERUN_TRY(served(who, connection, group));
    return Status::ok();
  }

  Status transport(const std::string& who, const GroupConnection& connection) {
    if (connection.transport == Transport::nccl)
      return Status::ok();
    const bool isOfKernels = connection.transport == Transport::peerKernels;
    if (isOfKernels == connection.overlaps)
      return damaged(who + " is by " + ops::nameOf(connection.transport) +
                     (isOfKernels ? " and overlaps with kernels"
                                  : " and does not overlap with kernels"));
    const Group group = groupOf(connection);
    const int size = groupSize(plan.mesh, group);
    const int most = isOfKernels
                         ? std::min(table.ranksPerNode, sizes::mostPeers)
                         : table.ranksPerNode;
    if (size > most)
      return damaged(who + " is by " + ops::nameOf(connection.transport) +
                     " of " + std::to_string(size) + " ranks, more than " +
                     std::to_string(most));
    for (int rank = 0; rank < plan.mesh.ranks; ++rank) {
      const std::vector<int> members = groupMembers(plan.mesh, group, rank);
      if (!members.empty() && members.front() / table.ranksPerNode !=
                                  members.back() / table.ranksPerNode)
        return damaged(who + " is by " + ops::nameOf(connection.transport) +
                       " between ranks " + std::to_string(members.front()) +
                       " and " + std::to_string(members.back()) +
                       ", which are on different nodes of " +
                       std::to_string(table.ranksPerNode));
    }
    return Status::ok();
  }

  /// Records that a connection serves a group of the mesh.
  Status served(const std::string& who, const GroupConnection& connection,
                int number) {
    if (number < 0 || number >= int(plan.mesh.groups.size()))
      return damaged(who + " serves group " + std::to_string(number) + " of " +
                     std::to_string(plan.mesh.groups.size()));
    const Group& group = plan.mesh.groups[size_t(number)];
    std::vector<std::string> axes;
    for (const std::string& axis : group.axes)
      if (axisSize(plan.mesh, axis) > 1)
        axes.push_back(axis);
    if (axes != connection.axes || group.stages != connection.stages)
      return damaged(who + " serves group " + quoted(group.name) +
                     ", which has other ranks");
    if (!(connection.overlaps                              ? overlapping
          : connection.transport == Transport::peerKernels ? ofKernels
                                                           : inTurn)
             .insert(number)
             .second)
      return damaged("group " + quoted(group.name) +
                     " has two connections of one kind");
    return Status::ok();
  }

  Status connection(const LinkConnection& link) {
    const std::string who = "link " + std::to_string(link.link);
    if (link.from < 0 || link.from >= stages || link.to < 0 ||
        link.to >= stages || link.from == link.to)
      return damaged(who + " leads from stage " + std::to_string(link.from) +
                     " to stage " + std::to_string(link.to) + " of " +
                     std::to_string(stages));
    RECIPERUN_TRY(width(who, link.width));
    if (link.senderBytes < 0 || link.receiverBytes < 0)
      return damaged(who + " takes a negative number of bytes");
    if (!links.insert(link.link).second)
      return damaged(who + " has two connections");
    return Status::ok();
  }

  // ---- what they serve

  /// Checks that the ops and transfers of a stage have connections.
  Status serves(int number) const {
    const Stage& stage = plan.stages[size_t(number)];
    for (const Function& function : stage.functions)
      for (const Op& op : function.ops)
        if (ops::traitsOf(op.kind).isCollective && !isServed(op))
          return damaged("op " + quoted(op.name) + " (" + ops::opName(op.kind) +
                         ") has no connection for group " +
                         quoted(plan.mesh.groups[size_t(op.group)].name));
    for (const Transfer& transfer : stage.transfers)
      if (!isServed(number, transfer))
        return damaged("transfer " + std::to_string(transfer.channel) +
                       " of stage " + std::to_string(number) +
                       " has no connection for link " +
                       std::to_string(transfer.link));
    return Status::ok();
  }

  bool isServed(const Op& op) const {
    const ops::Traits& traits = ops::traitsOf(op.kind);
    if (traits.runsBesideKernels)
      return overlapping.contains(op.group);
    // An op that completes a collective needs no connection: the op that starts
    // the collective has it.
    return traits.finishes || inTurn.contains(op.group) ||
           ofKernels.contains(op.group);
  }

  bool isServed(int stage, const Transfer& transfer) const {
    const bool isSend = transfer.kind == Transfer::Kind::send;
    return std::ranges::any_of(table.links, [&](const LinkConnection& link) {
      return link.link == transfer.link &&
             link.from == (isSend ? stage : transfer.peer) &&
             link.to == (isSend ? transfer.peer : stage);
    });
  }

  const Plan& plan;
  const Connections& table;
  const int stages;
  std::set<int> inTurn, ofKernels, overlapping; // groups of the mesh
  std::set<int> links;
};

} // namespace

Status validateConnections(const Plan& plan) {
  const bool isNeeded = plan.device == "cuda" && plan.mesh.ranks > 1;
  if (isNeeded != plan.connections.has_value())
    return damaged(isNeeded ? "it lacks the connections of its " +
                                  std::to_string(plan.mesh.ranks) + " GPUs"
                            : "it has connections without several GPUs");
  return isNeeded ? TableValidation(plan, *plan.connections).run()
                  : Status::ok();
}

} // namespace reciperun::plan
