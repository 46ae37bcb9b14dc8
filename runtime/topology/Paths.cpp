// See Paths.h.

#include "runtime/topology/Paths.h"

#include <algorithm>

namespace reciperun::topology {
namespace {

/// The NVLinks of a GPU that lead to no GPU of the machine: to an NVSwitch,
/// which the machine need not see.
int linksToSwitches(const Machine& machine, const Gpu& gpu) {
  int count = 0;
  for (const nvml::LinkTarget& target : gpu.links)
    if (std::ranges::none_of(machine.gpus, [&](const Gpu& other) {
          return other.pci.busId == target.busId;
        }))
      count += target.count;
  return count;
}

} // namespace

const char* nameOf(PciPath path) {
  switch (path) {
  case PciPath::pix:
    return "PIX";
  case PciPath::pxb:
    return "PXB";
  case PciPath::phb:
    return "PHB";
  case PciPath::node:
    return "NODE";
  case PciPath::sys:
    return "SYS";
  }
  return "";
}

PciPath pciPathBetween(const PciDevice& a, const PciDevice& b) {
  if (!a.port.empty() && a.port == b.port)
    return PciPath::pix;
  if (!a.switches.empty() && !b.switches.empty()) {
    if (a.switches.back() == b.switches.back())
      return PciPath::pix;
    if (a.switches.front() == b.switches.front())
      return PciPath::pxb;
  }
  if (a.numaNode != b.numaNode)
    return PciPath::sys;
  return a.hostBridge == b.hostBridge ? PciPath::phb : PciPath::node;
}

int linksBetween(const Machine& machine, const Gpu& a, const Gpu& b) {
  const auto direct =
      std::ranges::find(a.links, b.pci.busId, &nvml::LinkTarget::busId);
  if (direct != a.links.end())
    return direct->count;
  return std::min(linksToSwitches(machine, a), linksToSwitches(machine, b));
}

std::string pathText(const Machine& machine, const Gpu& a, const Gpu& b) {
  const int links = linksBetween(machine, a, b);
  return links > 0 ? "NV" + std::to_string(links)
                   : nameOf(pciPathBetween(a.pci, b.pci));
}

} // namespace reciperun::topology
