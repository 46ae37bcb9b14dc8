// Evaluates the table of connections: the members and peers of a rank follow
// from its coordinates in the mesh.

#include "runtime/comm/ConnectionTable.h"

#include "runtime/plan/Mesh.h"
#include "runtime/sizes/ConnectionWidths.h"

#include <algorithm>
#include <set>

namespace reciperun::comm {

ConnectionTable::ConnectionTable(const plan::Plan& plan) : mesh(&plan.mesh) {
  static const plan::Connections none;
  table = plan.connections ? &*plan.connections : &none;
}

std::vector<int>
ConnectionTable::membersOf(const plan::GroupConnection& connection,
                           int rank) const {
  return plan::groupMembers(*mesh, {"", connection.axes, connection.stages},
                            rank);
}

std::vector<int> ConnectionTable::peersOf(int rank) const {
  std::set<int> others;
  for (const plan::GroupConnection& connection : groups())
    if (mapsPeers(connection)) {
      const std::vector<int> members = membersOf(connection, rank);
      others.insert(members.begin(), members.end());
    }
  others.erase(rank);
  return {others.begin(), others.end()};
}

const plan::GroupConnection*
ConnectionTable::behind(const plan::GroupConnection& kernels) const {
  const auto found =
      std::ranges::find_if(groups(), [&](const plan::GroupConnection& other) {
        return !mapsPeers(other) && !other.overlaps &&
               other.axes == kernels.axes && other.stages == kernels.stages;
      });
  return found == groups().end() ? nullptr : &*found;
}

int ConnectionTable::streams() const {
  int inTurn = 0, overlapping = 0;
  for (const plan::GroupConnection& connection : groups())
    if (connection.overlaps)
      ++overlapping;
    else if (!mapsPeers(connection) && !connection.groups.empty())
      ++inTurn;
  const int communicators = 1 + inTurn + overlapping + int(links().size());
  return (overlapping ? 1 + overlapping : 0) + int(links().size()) +
         2 * communicators;
}

int joinedWidth(int first, int second) {
  return first == sizes::unboundedBlocks || second == sizes::unboundedBlocks
             ? sizes::unboundedBlocks
             : std::max(first, second);
}

} // namespace reciperun::comm
