// The connections of a plan's GPUs, as the compiler has decided them.

#ifndef RECIPERUN_COMM_CONNECTIONTABLE_H
#define RECIPERUN_COMM_CONNECTIONTABLE_H

#include "runtime/plan/Plan.h"

#include <vector>

namespace reciperun::comm {

/// A view of the plan's table. The plan outlives it.
class ConnectionTable {
public:
  /// The table has no entries when the plan has none.
  explicit ConnectionTable(const plan::Plan& plan);

  const std::vector<plan::GroupConnection>& groups() const {
    return table->groups;
  }
  const std::vector<plan::LinkConnection>& links() const {
    return table->links;
  }
  bool packs() const { return table->packs; }
  int ranksPerNode() const { return table->ranksPerNode; }

  /// The ranks of the connection's instance that includes `rank`, in ascending
  /// order; none when the ranks of `rank`'s stage are not members.
  std::vector<int> membersOf(const plan::GroupConnection& connection,
                             int rank) const;
  /// The other ranks whose memory a rank maps, in ascending order.
  std::vector<int> peersOf(int rank) const;
  /// The NCCL connection with the same ranks as a connection by peer kernels,
  /// which replaces it when the ranks cannot map each other's memory; null when
  /// there is none.
  const plan::GroupConnection*
  behind(const plan::GroupConnection& kernels) const;
  /// The largest number of streams that the connections take, including the two
  /// that NCCL has per communicator.
  int streams() const;

private:
  const plan::Mesh* mesh;
  const plan::Connections* table;
};

/// Whether the ranks of a connection map each other's memory.
inline bool mapsPeers(const plan::GroupConnection& connection) {
  return connection.transport != plan::Transport::nccl;
}

/// The width that suffices for two connections (sizes/ConnectionWidths.h).
int joinedWidth(int first, int second);

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_CONNECTIONTABLE_H
