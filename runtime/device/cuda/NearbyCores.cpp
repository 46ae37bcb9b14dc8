// Reads local_cpulist in the GPU's sysfs folder.

#include "runtime/device/cuda/NearbyCores.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace reciperun::device {
namespace {

/// `/sys/bus/pci/devices/0000:1b:00.0/local_cpulist`.
std::string listPath(const cudaDeviceProp& gpu) {
  char path[128];
  std::snprintf(path, sizeof path,
                "/sys/bus/pci/devices/%04x:%02x:%02x.0/local_cpulist",
                unsigned(gpu.pciDomainID), unsigned(gpu.pciBusID),
                unsigned(gpu.pciDeviceID));
  return path;
}

} // namespace

cpu_set_t parseCoreList(const std::string& list) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  std::istringstream ranges(list);
  for (std::string range; std::getline(ranges, range, ',');) {
    int first = 0, last = 0;
    const int read = std::sscanf(range.c_str(), "%d-%d", &first, &last);
    if (read < 1 || first < 0 || first >= CPU_SETSIZE)
      continue;
    last = read == 1 ? first : std::min(last, CPU_SETSIZE - 1);
    for (int core = first; core <= last; ++core)
      CPU_SET(size_t(core), &cores);
  }
  return cores;
}

void moveNear(const cudaDeviceProp& gpu) {
  std::ifstream file(listPath(gpu));
  std::string list;
  cpu_set_t allowed;
  if (!std::getline(file, list) ||
      sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return;
  const cpu_set_t near = parseCoreList(list);
  cpu_set_t both;
  CPU_AND(&both, &near, &allowed);
  // Keeps the affinity when a launcher has bound the rank to other cores.
  if (CPU_COUNT(&both) > 0)
    sched_setaffinity(0, sizeof both, &both);
}

} // namespace reciperun::device
