// Writes a machine as NCCL's topology file: a `cpu` for each NUMA node, the
// `pci` of switches nested in it, devices in their switches, by bus id.

#include "runtime/topology/NcclXml.h"

#include <algorithm>

namespace reciperun::topology {
namespace {

void add(XmlElement& element, const char* name, const std::string& value) {
  if (!value.empty())
    element.attributes.push_back({name, value});
}

void add(XmlElement& element, const char* name, int64_t value) {
  if (value >= 0)
    element.attributes.push_back({name, std::to_string(value)});
}

XmlElement pciElement(const PciDevice& device) {
  XmlElement pci{"pci"};
  add(pci, "busid", device.busId);
  add(pci, "class", device.classCode);
  add(pci, "vendor", device.vendor);
  add(pci, "device", device.device);
  add(pci, "subsystem_vendor", device.subsystemVendor);
  add(pci, "subsystem_device", device.subsystemDevice);
  add(pci, "link_speed", device.linkSpeed);
  add(pci, "link_width", device.linkWidth);
  return pci;
}

XmlElement linkElement(const Machine& machine, const nvml::LinkTarget& target) {
  const bool isGpu = std::ranges::any_of(machine.gpus, [&](const Gpu& gpu) {
    return gpu.pci.busId == target.busId;
  });
  XmlElement link{"nvlink"};
  add(link, "target",
      target.busId.empty() ? std::string(hiddenTarget) : target.busId);
  add(link, "count", target.count);
  add(link, "tclass", isGpu ? "0x030200" : std::string(switchClass));
  return link;
}

XmlElement gpuElement(const Machine& machine, const Gpu& gpu) {
  XmlElement element{"gpu"};
  add(element, "dev", gpu.index);
  add(element, "sm", gpu.computeCapability);
  for (const nvml::LinkTarget& target : gpu.links)
    element.children.push_back(linkElement(machine, target));
  if (gpu.chipLinks > 0) {
    XmlElement& link = element.children.emplace_back(XmlElement{"c2c"});
    add(link, "bw", gpu.chipBandwidth);
    add(link, "count", gpu.chipLinks);
  }
  return element;
}

XmlElement netElement(const Nic& nic, int index) {
  XmlElement net{"net"};
  add(net, "name", nic.name);
  add(net, "dev", index);
  add(net, "speed", nic.megabits);
  add(net, "port", nic.port);
  add(net, "guid", nic.guid);
  return net;
}

XmlElement cpuElement(const NumaNode& node, const Processor& processor) {
  XmlElement cpu{"cpu"};
  cpu.attributes.push_back({"numaid", std::to_string(node.index)});
  add(cpu, "affinity", node.mask);
  add(cpu, "arch", processor.architecture);
  add(cpu, "vendor", processor.vendor);
  add(cpu, "familyid", processor.family);
  add(cpu, "modelid", processor.model);
  return cpu;
}

class NcclXmlWriter {
public:
  explicit NcclXmlWriter(const Machine& machine)
      : machine(machine), system{"system", {{"version", "1"}}} {}

  XmlElement write() {
    for (const NumaNode& node : machine.nodes)
      system.children.push_back(cpuElement(node, machine.processor));
    for (const Gpu& gpu : machine.gpus)
      if (gpu.index >= 0)
        elementOf(gpu.pci).children.push_back(gpuElement(machine, gpu));
    addNics();
    for (XmlElement& cpu : system.children)
      sortByBusId(cpu);
    return std::move(system);
  }

private:
  /// NCCL uses RDMA devices where there are some, else sockets.
  void addNics() {
    const bool hasRdma = std::ranges::any_of(machine.nics, &Nic::isRdma);
    int index = 0;
    for (const Nic& nic : machine.nics) {
      if (nic.isRdma != hasRdma || nic.isDown())
        continue;
      XmlElement& pci = elementOf(nic.pci);
      auto holder = std::ranges::find(pci.children, "nic", &XmlElement::name);
      if (holder == pci.children.end()) {
        pci.children.push_back({"nic"});
        holder = pci.children.end() - 1;
      }
      holder->children.push_back(netElement(nic, index++));
    }
  }

  /// The element of a PCI device, which is made with the switches above it when
  /// there is none.
  XmlElement& elementOf(const PciDevice& device) {
    XmlElement* parent = &cpuOf(device);
    for (const std::string& busId : device.switches)
      if (const PciDevice* above = machine.findSwitch(busId))
        parent = &childOf(*parent, *above);
    return childOf(*parent, device);
  }

  XmlElement& cpuOf(const PciDevice& device) {
    const std::string index = std::to_string(device.numaNode);
    for (XmlElement& cpu : system.children)
      if (cpu.valueOf("numaid") == index)
        return cpu;
    NumaNode node;
    node.index = device.numaNode;
    system.children.push_back(cpuElement(node, machine.processor));
    return system.children.back();
  }

  static XmlElement& childOf(XmlElement& parent, const PciDevice& device) {
    for (XmlElement& child : parent.children)
      if (child.valueOf("busid") == device.busId)
        return child;
    parent.children.push_back(pciElement(device));
    return parent.children.back();
  }

  static void sortByBusId(XmlElement& element) {
    if (element.name != "cpu" && element.name != "pci")
      return;
    std::ranges::stable_sort(element.children, {}, [](const XmlElement& child) {
      return child.valueOf("busid");
    });
    for (XmlElement& child : element.children)
      sortByBusId(child);
  }

  const Machine& machine;
  XmlElement system;
};

} // namespace

XmlElement toNcclXml(const Machine& machine) {
  return NcclXmlWriter(machine).write();
}

} // namespace reciperun::topology
