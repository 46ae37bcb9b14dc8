// See Mpirun.h.

#include "runtime/launch/Mpirun.h"

#include <thread>
#include <unistd.h>

namespace reciperun::launch {

std::vector<std::string> mpirun(int ranks) {
  std::vector<std::string> command = {"mpirun", "-np", std::to_string(ranks)};
  if (geteuid() == 0)
    command.push_back("--allow-run-as-root");
  return command;
}

std::vector<std::string> optionsHere(int ranks) {
  if (unsigned(ranks) > std::thread::hardware_concurrency())
    return {"--oversubscribe"};
  return {};
}

} // namespace reciperun::launch
