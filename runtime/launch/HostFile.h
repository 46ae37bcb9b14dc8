// Reads a host file, as mpirun and DeepSpeed write them.

#ifndef RECIPERUN_LAUNCH_HOSTFILE_H
#define RECIPERUN_LAUNCH_HOSTFILE_H

#include <optional>
#include <string>
#include <vector>

namespace reciperun::launch {

/// A line `NAME slots=N`.
struct Host {
  std::string name;
  int slots = 0; // -1: not given; mpirun takes the host's number of cores
  std::string line = {}; // as written, without a comment
};

/// The hosts of a file in its order; nullopt if it cannot be read.
std::optional<std::vector<Host>> hostsOf(const std::string& path);

/// The names of the hosts, each once.
std::vector<std::string> namesOf(const std::vector<Host>& hosts);

/// The hosts that are not among the names.
std::vector<Host> hostsWithout(const std::vector<Host>& hosts,
                               const std::vector<std::string>& names);

/// Writes the lines of the hosts. Returns an errno, or 0.
int writeHosts(const std::string& path, const std::vector<Host>& hosts);

/// The sum of the slots; nullopt if a line gives none, or if there is no host.
std::optional<int> slotsOf(const std::vector<Host>& hosts);

} // namespace reciperun::launch

#endif // RECIPERUN_LAUNCH_HOSTFILE_H
