// Compares the hosts of ranks that map each other's memory, and says which
// number of ranks per node, or which mapping of mpirun, fits the hosts.

#include "runtime/comm/Placement.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace reciperun::comm {
namespace {

/// The number of consecutive ranks on each host; 0 when hosts have different
/// numbers of ranks, or when the ranks of a host are not consecutive.
int consecutiveRanks(std::span<const int64_t> hosts) {
  std::map<int64_t, int> counts;
  for (int64_t host : hosts)
    ++counts[host];
  const int count = counts.begin()->second;
  for (size_t rank = 0; rank < hosts.size(); ++rank)
    if (hosts[rank] != int64_t(rank) / count * count ||
        hosts.size() % size_t(count) != 0)
      return 0;
  return count;
}

std::string remedy(const ConnectionTable& table,
                   std::span<const int64_t> hosts) {
  const std::string start = "start it with mpirun `--map-by ppr:" +
                            std::to_string(table.ranksPerNode()) + ":node`";
  const int count = consecutiveRanks(hosts);
  return count == 0 ? start
                    : start +
                          ", or compile the recipe with `--set "
                          "cluster.hardware.ranks_per_node=" +
                          std::to_string(count) + "`";
}

} // namespace

Status checkPlacement(const ConnectionTable& table,
                      std::span<const int64_t> hosts) {
  for (const plan::GroupConnection& connection : table.groups()) {
    if (!mapsPeers(connection))
      continue;
    for (size_t rank = 0; rank < hosts.size(); ++rank)
      for (int member : table.membersOf(connection, int(rank)))
        if (hosts[size_t(member)] != hosts[rank])
          return Status::error(
              "ranks " + std::to_string(rank) + " and " +
              std::to_string(member) +
              " are on different hosts; the plan is for " +
              std::to_string(table.ranksPerNode()) +
              " consecutive ranks on each host and lets these two map each "
              "other's memory; " +
              remedy(table, hosts));
  }
  return Status::ok();
}

} // namespace reciperun::comm
