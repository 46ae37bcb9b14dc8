// A host as collectives see it: NUMA nodes, PCIe switches, GPUs, NICs and how
// they are connected. Data only.

#ifndef RECIPERUN_TOPOLOGY_MACHINE_H
#define RECIPERUN_TOPOLOGY_MACHINE_H

#include "runtime/nvml/Library.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reciperun::topology {

struct NumaNode {
  int index = 0;     // the system's; -1: PCI devices without a node
  std::string cores; // `0-47,96-143`
  std::string mask;  // of the same cores, `ffff0000,0000ffff`
  int coreCount = 0; // hardware threads
  int64_t bytes = 0;
};

/// The processors, as NCCL's topology names them. Unknown numbers are -1.
struct Processor {
  std::string architecture; // `x86_64`
  std::string vendor;       // `GenuineIntel`
  int family = -1, model = -1;
};

/// Numbers are -1, and texts empty, where the system does not tell them.
struct PciDevice {
  std::string busId;     // `0000:1b:00.0`; empty: not on PCI
  std::string classCode; // `0x030200`
  std::string vendor, device, subsystemVendor, subsystemDevice; // `0x10de`
  std::string linkSpeed; // the most that both ends support, `32.0 GT/s PCIe`
  int linkWidth = -1;    // lanes that both ends support
  int widthNow = -1;     // lanes in use
  int numaNode = -1;
  std::string hostBridge; // `0000:17`; empty: unknown
  std::string port;       // the bus id of the bridge above; empty: none
  /// The bus ids of the PCIe switches above, from the processor down. A switch
  /// is named by its upstream port.
  std::vector<std::string> switches;
  int line = 0; // of the file that it was read from; 0: none
};

struct Gpu {
  PciDevice pci;
  int index = -1; // the driver's; -1: no driver knows it
  std::string uuid, name;
  int computeCapability = 0; // 90
  std::vector<nvml::LinkTarget> links;
  int chipLinks = 0, chipBandwidth = 0; // to the processor's chip (C2C), MB/s

  int linkCount() const;
};

struct Nic {
  PciDevice pci;
  std::string name;      // the RDMA device, `mlx5_0`, else the interface
  std::string interface; // `eth0`; may be empty
  bool isRdma = false;
  std::string linkLayer; // `InfiniBand`, `Ethernet`, `EFA`
  std::string state;     // `active`, `down`; empty: unknown
  std::string guid;      // `0x946dae0300aabbcc`; empty: none
  int port = 1;
  int64_t megabits = -1; // a second; -1: unknown

  bool isDown() const { return !state.empty() && state != "active"; }
};

struct Machine {
  std::string host;
  std::string driver;      // its version; empty: no NVIDIA driver
  bool asksDriver = false; // whether NVML was looked for
  Processor processor;
  std::vector<NumaNode> nodes;
  std::vector<PciDevice> switches;
  std::vector<Gpu> gpus; // in the order of their indices
  std::vector<Nic> nics; // in the order of their bus ids

  /// The switch with a bus id; null when there is none.
  const PciDevice* findSwitch(const std::string& busId) const;
  /// The node with an index; null when there is none.
  const NumaNode* findNode(int index) const;
};

} // namespace reciperun::topology

#endif // RECIPERUN_TOPOLOGY_MACHINE_H
