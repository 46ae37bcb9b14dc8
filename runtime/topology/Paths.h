// What lies between two devices of a host, in the words of `nvidia-smi topo`.

#ifndef RECIPERUN_TOPOLOGY_PATHS_H
#define RECIPERUN_TOPOLOGY_PATHS_H

#include "runtime/topology/Machine.h"

#include <string>

namespace reciperun::topology {

/// The best path on PCIe between two devices: `PIX` at most one switch, `PXB`
/// several switches, `PHB` the processor's host bridge, `NODE` several host
/// bridges of one NUMA node, `SYS` several NUMA nodes.
enum class PciPath { pix, pxb, phb, node, sys };

const char* nameOf(PciPath path);
PciPath pciPathBetween(const PciDevice& a, const PciDevice& b);

/// The NVLinks between two GPUs of a machine: those to each other, or those of
/// the GPU with fewer to NVSwitches.
int linksBetween(const Machine& machine, const Gpu& a, const Gpu& b);

/// `NV18` where there are NVLinks, else the path on PCIe.
std::string pathText(const Machine& machine, const Gpu& a, const Gpu& b);

} // namespace reciperun::topology

#endif // RECIPERUN_TOPOLOGY_PATHS_H
