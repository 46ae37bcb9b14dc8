// 1. Load hwloc's tree: NUMA nodes, processors, PCI devices and the bridges
//    above them.
// 2. Ask sysfs for the links of PCI devices and for NICs.
// 3. Ask NVML for the GPUs, and join them with the PCI devices by bus id.

#include "runtime/topology/FindMachine.h"

#include "runtime/base/Text.h"
#include "runtime/topology/Sysfs.h"

#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <type_traits>

namespace reciperun::topology {
namespace {

using PciAttributes = hwloc_obj_attr_u::hwloc_pcidev_attr_s;

constexpr unsigned nvidia = 0x10de; // PCI's vendor
constexpr unsigned displayClass = 0x03;

std::string codeText(unsigned code, int digits) {
  return formatted("0x%0*x", digits, code);
}

const char* infoOf(hwloc_obj_t object, const char* name) {
  const char* value =
      object ? hwloc_obj_get_info_by_name(object, name) : nullptr;
  return value ? value : "";
}

int numberOfInfo(hwloc_obj_t object, const char* name) {
  const std::string text = infoOf(object, name);
  return text.empty() ? -1 : std::atoi(text.c_str());
}

// ---- hwloc's tree

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const {
    hwloc_topology_destroy(topology);
  }
};
using TopologyHandle =
    std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, DestroyTopology>;

/// hwloc reads the folders below HWLOC_FSROOT; there is no call for it.
class FileRoot {
public:
  explicit FileRoot(const std::filesystem::path& root) : isSet(root != "/") {
    if (isSet)
      setenv("HWLOC_FSROOT", root.c_str(), 1);
  }
  FileRoot(const FileRoot&) = delete;
  FileRoot& operator=(const FileRoot&) = delete;
  ~FileRoot() {
    if (isSet)
      unsetenv("HWLOC_FSROOT");
  }

private:
  bool isSet;
};

Expected<TopologyHandle> loadTopology(const std::filesystem::path& root) {
  const FileRoot fileRoot(root);
  hwloc_topology_t made = nullptr;
  if (hwloc_topology_init(&made) != 0)
    return Status::error("hwloc cannot start: " +
                         std::string(std::strerror(errno)));
  TopologyHandle topology(made);
  // These plug-ins start the drivers of GPUs, which takes seconds and memory.
  for (const char* plugin : {"cuda", "nvml", "opencl", "gl", "rsmi"})
    hwloc_topology_set_components(
        made, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, plugin);
  // This one asks the processor that it runs on.
  if (root != "/")
    hwloc_topology_set_components(
        made, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  hwloc_topology_set_io_types_filter(made, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (hwloc_topology_load(made) != 0)
    return Status::error("hwloc cannot read the machine below `" +
                         root.string() + "`: " + std::strerror(errno));
  return topology;
}

std::string takeText(char* text) {
  const std::unique_ptr<char, decltype(&std::free)> owned(text, &std::free);
  return text ? text : "";
}

std::string listOf(hwloc_const_bitmap_t set) {
  char* text = nullptr;
  hwloc_bitmap_list_asprintf(&text, set);
  return takeText(text);
}

/// A mask as sysfs writes it: hwloc's, without `0x` before each word.
std::string maskOf(hwloc_const_bitmap_t set) {
  char* text = nullptr;
  hwloc_bitmap_asprintf(&text, set);
  std::string mask = takeText(text);
  for (size_t at = 0; (at = mask.find("0x", at)) != mask.npos;)
    mask.erase(at, 2);
  return mask;
}

NumaNode nodeOf(hwloc_obj_t object) {
  NumaNode node;
  node.index = int(object->os_index);
  node.cores = listOf(object->cpuset);
  node.mask = maskOf(object->cpuset);
  node.coreCount = hwloc_bitmap_weight(object->cpuset);
  node.bytes = int64_t(object->attr->numanode.local_memory);
  return node;
}

Processor processorOf(hwloc_topology_t topology) {
  const hwloc_obj_t root = hwloc_get_root_obj(topology);
  const hwloc_obj_t package =
      hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
  Processor processor;
  processor.architecture = infoOf(root, "Architecture");
  if (processor.architecture == "aarch64")
    processor.architecture = "arm64";
  if (processor.architecture.starts_with("ppc64"))
    processor.architecture = "ppc64";
  processor.vendor = infoOf(package, "CPUVendor");
  processor.family = numberOfInfo(package, "CPUFamilyNumber");
  processor.model = numberOfInfo(package, "CPUModelNumber");
  return processor;
}

std::string busIdOf(const PciAttributes& pci) {
  return formatted("%04x:%02x:%02x.%01x", unsigned(pci.domain),
                   unsigned(pci.bus), unsigned(pci.dev), unsigned(pci.func));
}

PciDevice deviceWithCodes(const PciAttributes& pci) {
  PciDevice device;
  device.busId = busIdOf(pci);
  device.classCode = codeText(unsigned(pci.class_id) << 8, 6);
  device.vendor = codeText(pci.vendor_id, 4);
  device.device = codeText(pci.device_id, 4);
  device.subsystemVendor = codeText(pci.subvendor_id, 4);
  device.subsystemDevice = codeText(pci.subdevice_id, 4);
  return device;
}

/// The only NUMA node of the processors that an I/O object is near; -1 when
/// they have several.
int nodeNear(hwloc_topology_t topology, hwloc_obj_t object) {
  const hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, object);
  return near && near->nodeset && hwloc_bitmap_weight(near->nodeset) == 1
             ? hwloc_bitmap_first(near->nodeset)
             : -1;
}

/// Sets the bridges above a device. Of a path from the processor (a root port,
/// and an upstream and a downstream port of each switch), each second bridge
/// above the device is the upstream port of a switch.
void addBridges(PciDevice& device, hwloc_obj_t object) {
  int above = 0;
  for (hwloc_obj_t each = object->parent;
       each && each->type == HWLOC_OBJ_BRIDGE; each = each->parent) {
    const auto& bridge = each->attr->bridge;
    if (bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST) {
      device.hostBridge =
          formatted("%04x:%02x", unsigned(bridge.downstream.pci.domain),
                    unsigned(bridge.downstream.pci.secondary_bus));
      break;
    }
    const std::string busId = busIdOf(bridge.upstream.pci);
    if (++above == 1)
      device.port = busId;
    else if (above % 2 == 0)
      device.switches.insert(device.switches.begin(), busId);
  }
}

bool isGpuOfNvidia(const PciAttributes& pci) {
  return pci.class_id >> 8 == displayClass && pci.vendor_id == nvidia;
}

/// The network devices of a PCI device.
struct NetworkNames {
  std::vector<std::string> rdma, interfaces;
};

NetworkNames networkNames(hwloc_obj_t pci) {
  NetworkNames names;
  for (hwloc_obj_t each = pci->io_first_child; each;
       each = each->next_sibling) {
    if (each->type != HWLOC_OBJ_OS_DEVICE || !each->name)
      continue;
    if (each->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS)
      names.rdma.push_back(each->name);
    if (each->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK)
      names.interfaces.push_back(each->name);
  }
  return names;
}

// ---- joining the sources

class MachineFinder {
public:
  MachineFinder(hwloc_topology_t topology, const std::filesystem::path& root,
                bool hasSysfs)
      : topology(topology), sysfs(root), hasSysfs(hasSysfs) {}

  Machine find() {
    const hwloc_obj_t root = hwloc_get_root_obj(topology);
    machine.host = infoOf(root, "HostName");
    machine.processor = processorOf(topology);
    for (hwloc_obj_t each = nullptr; (each = hwloc_get_next_obj_by_type(
                                          topology, HWLOC_OBJ_NUMANODE, each));)
      machine.nodes.push_back(nodeOf(each));
    for (hwloc_obj_t each = nullptr;
         (each = hwloc_get_next_pcidev(topology, each));)
      addDevice(each);
    std::ranges::sort(machine.switches, {}, &PciDevice::busId);
    std::ranges::stable_sort(machine.nics, {},
                             [](const Nic& nic) { return nic.pci.busId; });
    return std::move(machine);
  }

private:
  void describe(PciDevice& device) const {
    if (hasSysfs)
      sysfs.describe(device);
  }

  void addDevice(hwloc_obj_t object) {
    const NetworkNames names = networkNames(object);
    const bool isGpu = isGpuOfNvidia(object->attr->pcidev);
    if (!isGpu && names.rdma.empty() && names.interfaces.empty())
      return;
    PciDevice device = deviceWithCodes(object->attr->pcidev);
    device.numaNode = nodeNear(topology, object);
    addBridges(device, object);
    describe(device);
    addSwitches(object, device);
    if (isGpu)
      machine.gpus.emplace_back().pci = device;
    addNics(names, device);
  }

  /// Adds the switches above a device that are not known yet.
  void addSwitches(hwloc_obj_t object, const PciDevice& device) {
    for (hwloc_obj_t each = object->parent;
         each && each->type == HWLOC_OBJ_BRIDGE &&
         each->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI;
         each = each->parent) {
      PciDevice made = deviceWithCodes(each->attr->bridge.upstream.pci);
      if (std::ranges::find(device.switches, made.busId) ==
              device.switches.end() ||
          machine.findSwitch(made.busId))
        continue;
      made.numaNode = device.numaNode;
      addBridges(made, each);
      describe(made);
      machine.switches.push_back(std::move(made));
    }
  }

  void addNics(const NetworkNames& names, const PciDevice& device) {
    Nic nic;
    nic.pci = device;
    if (!names.interfaces.empty())
      nic.interface = names.interfaces.front();
    for (const std::string& name : names.rdma) {
      nic.name = name;
      nic.isRdma = true;
      const int ports = hasSysfs ? sysfs.portsOf(name) : 0;
      for (nic.port = 1; nic.port <= std::max(ports, 1); ++nic.port)
        addNic(nic);
    }
    if (!names.rdma.empty())
      return;
    for (const std::string& name : names.interfaces) {
      nic.name = nic.interface = name;
      addNic(nic);
    }
  }

  void addNic(Nic nic) {
    if (hasSysfs)
      sysfs.describe(nic);
    machine.nics.push_back(std::move(nic));
  }

  hwloc_topology_t topology;
  Sysfs sysfs;
  bool hasSysfs;
  Machine machine;
};

/// `32.0 GT/s PCIe` of a generation of PCIe; empty for others.
std::string speedOfGeneration(int generation) {
  const char* const speeds[] = {"",
                                "2.5 GT/s PCIe",
                                "5.0 GT/s PCIe",
                                "8.0 GT/s PCIe",
                                "16.0 GT/s PCIe",
                                "32.0 GT/s PCIe",
                                "64.0 GT/s PCIe"};
  return generation > 0 && generation <= 6 ? speeds[generation] : "";
}

/// A GPU whose PCI device the system does not list, as in some containers.
PciDevice deviceOfDriver(const nvml::Gpu& gpu) {
  PciDevice device;
  device.busId = gpu.busId;
  device.classCode = "0x030200";
  device.vendor = codeText(gpu.vendor, 4);
  device.device = codeText(gpu.device, 4);
  device.subsystemVendor = codeText(gpu.subsystemVendor, 4);
  device.subsystemDevice = codeText(gpu.subsystemDevice, 4);
  return device;
}

void addDriverGpus(Machine& machine, const nvml::Library& driver) {
  machine.driver = driver.driverVersion();
  if (machine.driver.empty())
    machine.driver = "unknown";
  for (const nvml::Gpu& each : driver.gpus()) {
    auto found = std::ranges::find(
        machine.gpus, each.busId, [](const Gpu& gpu) { return gpu.pci.busId; });
    if (found == machine.gpus.end()) {
      machine.gpus.emplace_back().pci = deviceOfDriver(each);
      found = machine.gpus.end() - 1;
    }
    found->index = each.index;
    found->uuid = each.uuid;
    found->name = each.name;
    found->computeCapability = each.computeCapability;
    found->links = each.links;
    found->chipLinks = each.chipLinks;
    found->chipBandwidth = each.chipBandwidth;
    if (found->pci.linkSpeed.empty())
      found->pci.linkSpeed = speedOfGeneration(each.mostPcieGeneration);
    if (found->pci.linkWidth < 0 && each.mostPcieWidth > 0)
      found->pci.linkWidth = each.mostPcieWidth;
  }
  std::ranges::stable_sort(machine.gpus, {}, [](const Gpu& gpu) {
    return gpu.index < 0 ? unsigned(-1) : unsigned(gpu.index);
  });
}

/// A device that the system assigns to no NUMA node is near all cores.
void placeStrays(Machine& machine, hwloc_topology_t topology) {
  const int only = machine.nodes.size() == 1 ? machine.nodes.front().index : -1;
  bool hasStrays = false;
  const auto place = [&](PciDevice& device) {
    if (device.numaNode < 0)
      device.numaNode = only;
    hasStrays |= device.numaNode < 0;
  };
  for (Gpu& gpu : machine.gpus)
    place(gpu.pci);
  for (Nic& nic : machine.nics)
    place(nic.pci);
  if (!hasStrays)
    return;
  const hwloc_const_cpuset_t all = hwloc_topology_get_topology_cpuset(topology);
  machine.nodes.push_back(
      {-1, listOf(all), maskOf(all), hwloc_bitmap_weight(all), 0});
}

} // namespace

Expected<Machine> findMachine(const MachineSources& sources) {
  const auto topology = loadTopology(sources.root);
  RECIPERUN_TRY(topology);
  const bool isOtherRoot = sources.root != "/";
  const bool readsHost =
      isOtherRoot || hwloc_topology_is_thissystem(topology->get());
  Machine machine =
      MachineFinder(topology->get(), sources.root, readsHost).find();
  machine.asksDriver = readsHost;
  if (readsHost)
    if (const auto driver = nvml::Library::open(sources.nvml))
      addDriverGpus(machine, *driver);
  placeStrays(machine, topology->get());
  return machine;
}

} // namespace reciperun::topology
