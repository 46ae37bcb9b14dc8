// Cores from the scheduler's mask, memory from /proc.

#include "runtime/train/Host.h"

#include <malloc.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace reciperun::train {

namespace {

cpu_set_t coreMask() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0)
    CPU_SET(0, &mask);
  return mask;
}

} // namespace

int coresOfProcess() {
  cpu_set_t mask = coreMask();
  return std::max(1, CPU_COUNT(&mask));
}

Expected<int> threadsOfRank(const comm::MpiSession& session) {
  // A launcher that binds ranks to cores has divided them already: only ranks
  // with the same mask share its cores.
  cpu_set_t mask = coreMask();
  Expected<int> sharing =
      session.countOnHost(std::as_bytes(std::span(&mask, 1)));
  if (!sharing)
    return sharing.status();
  return std::max(1, coresOfProcess() / std::max(1, *sharing));
}

void releaseFreeMemory() {
  malloc_trim(0);
}

void raiseFileLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int64_t peakBytes() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string key;
    int64_t kibibytes = 0;
    if (fields >> key >> kibibytes && key == "VmHWM:")
      return kibibytes * 1024;
  }
  return 0;
}

} // namespace reciperun::train
