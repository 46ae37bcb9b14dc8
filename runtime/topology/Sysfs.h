// What sysfs tells about devices.

#ifndef RECIPERUN_TOPOLOGY_SYSFS_H
#define RECIPERUN_TOPOLOGY_SYSFS_H

#include "runtime/topology/Machine.h"

#include <filesystem>
#include <string>

namespace reciperun::topology {

/// The folders below `root`/sys. What a folder lacks stays as it is.
class Sysfs {
public:
  explicit Sysfs(const std::filesystem::path& root) : sys(root / "sys") {}

  /// Sets the codes of a device and the speed and width of its link, those of
  /// the weaker end.
  void describe(PciDevice& device) const;
  /// Sets rate, state, link layer and GUID of a NIC.
  void describe(Nic& nic) const;
  /// The number of ports of an RDMA device, 0 when there is none.
  int portsOf(const std::string& rdmaDevice) const;

private:
  void describeRdma(Nic& nic) const;
  void describeInterface(Nic& nic) const;

  std::filesystem::path sys;
};

} // namespace reciperun::topology

#endif // RECIPERUN_TOPOLOGY_SYSFS_H
