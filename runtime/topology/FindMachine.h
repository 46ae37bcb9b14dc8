// Finds the devices of a host: processors, NUMA nodes and PCI by hwloc, links
// and NICs by sysfs, GPUs and NVLinks by NVML.

#ifndef RECIPERUN_TOPOLOGY_FINDMACHINE_H
#define RECIPERUN_TOPOLOGY_FINDMACHINE_H

#include "runtime/base/Status.h"
#include "runtime/topology/Machine.h"

#include <filesystem>
#include <string>

namespace reciperun::topology {

struct MachineSources {
  /// The folder of `sys` and `proc`: of this host, of a container's host, or
  /// of a copy of another host.
  std::filesystem::path root = "/";
  std::string nvml = nvml::Library::defaultName;
};

/// A machine without a driver has its GPUs as PCI devices alone. Where
/// hwloc's variables name another machine (HWLOC_XMLFILE, HWLOC_SYNTHETIC),
/// only hwloc is asked.
Expected<Machine> findMachine(const MachineSources& sources = {});

} // namespace reciperun::topology

#endif // RECIPERUN_TOPOLOGY_FINDMACHINE_H
