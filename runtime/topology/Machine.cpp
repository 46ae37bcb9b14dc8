// See Machine.h.

#include "runtime/topology/Machine.h"

#include <algorithm>

namespace reciperun::topology {

int Gpu::linkCount() const {
  int count = 0;
  for (const nvml::LinkTarget& target : links)
    count += target.count;
  return count;
}

const PciDevice* Machine::findSwitch(const std::string& busId) const {
  const auto found = std::ranges::find(switches, busId, &PciDevice::busId);
  return found == switches.end() ? nullptr : &*found;
}

const NumaNode* Machine::findNode(int index) const {
  const auto found = std::ranges::find(nodes, index, &NumaNode::index);
  return found == nodes.end() ? nullptr : &*found;
}

} // namespace reciperun::topology
