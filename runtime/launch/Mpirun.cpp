// See Mpirun.h.

#include "runtime/launch/Mpirun.h"

#include <algorithm>
#include <thread>
#include <unistd.h>

namespace reciperun::launch {

std::vector<std::string> mpirun(int ranks, const MpirunOptions& options) {
  const std::vector<std::string>& others = options.others;
  std::vector<std::string> command = {"mpirun", "-np", std::to_string(ranks)};
  if (geteuid() == 0)
    command.emplace_back("--allow-run-as-root");
  const bool isHere = options.hostfile.empty() && others.empty();
  if (isHere && unsigned(ranks) > std::thread::hardware_concurrency())
    command.emplace_back("--oversubscribe");
  if (!options.hostfile.empty())
    command.insert(command.end(), {"--hostfile", options.hostfile});
  if (std::ranges::find(others, "--bind-to") == others.end())
    command.insert(command.end(), {"--bind-to", "none"});
  if (options.isQuiet)
    command.emplace_back("--quiet");
  command.insert(command.end(), others.begin(), others.end());
  return command;
}

} // namespace reciperun::launch
