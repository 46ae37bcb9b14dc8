// Reads the devices of NCCL's topology file, ignoring what NCCL ignores.

#include "runtime/topology/NcclXml.h"

#include <algorithm>
#include <charconv>

namespace reciperun::topology {
namespace {

/// The number that a text begins with, as NCCL's strtol reads it; `otherwise`
/// when there is none.
int numberOr(const std::string& text, int otherwise) {
  int number = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// The cores of a mask of hexadecimal words, the highest first.
std::vector<int> coresOf(const std::string& mask) {
  std::vector<int> cores;
  int bit = 0;
  for (auto each = mask.rbegin(); each != mask.rend(); ++each) {
    if (*each == ',')
      continue;
    int digit = 0;
    std::from_chars(&*each, &*each + 1, digit, 16);
    for (int i = 0; i < 4; ++i, ++bit)
      if (digit >> i & 1)
        cores.push_back(bit);
  }
  return cores;
}

/// `0-3,8` of 0, 1, 2, 3, 8.
std::string listText(const std::vector<int>& cores) {
  std::string text;
  for (size_t i = 0; i < cores.size();) {
    size_t last = i;
    while (last + 1 < cores.size() && cores[last + 1] == cores[last] + 1)
      ++last;
    text += (text.empty() ? "" : ",") + std::to_string(cores[i]);
    if (last > i)
      text += "-" + std::to_string(cores[last]);
    i = last + 1;
  }
  return text;
}

NumaNode nodeOf(const XmlElement& cpu) {
  NumaNode node;
  node.index = numberOr(cpu.valueOf("numaid"), -1);
  node.mask = cpu.valueOf("affinity");
  const std::vector<int> cores = coresOf(node.mask);
  node.cores = listText(cores);
  node.coreCount = int(cores.size());
  return node;
}

class NcclXmlReader {
public:
  Machine read(const XmlElement& system) {
    for (const XmlElement& cpu : system.children) {
      if (cpu.name != "cpu")
        continue;
      machine.nodes.push_back(nodeOf(cpu));
      if (machine.processor.architecture.empty())
        machine.processor = {cpu.valueOf("arch"), cpu.valueOf("vendor"),
                             numberOr(cpu.valueOf("familyid"), -1),
                             numberOr(cpu.valueOf("modelid"), -1)};
      addChildren(cpu, {}, machine.nodes.back().index);
    }
    std::ranges::stable_sort(machine.gpus, {}, &Gpu::index);
    return std::move(machine);
  }

private:
  void addChildren(const XmlElement& parent,
                   const std::vector<std::string>& switches, int node) {
    for (const XmlElement& child : parent.children)
      if (child.name == "pci")
        addPci(child, switches, node);
      else if (child.name == "nic")
        addNics(child, notOnPci(node));
  }

  static PciDevice notOnPci(int node) {
    PciDevice device;
    device.numaNode = node;
    return device;
  }

  void addPci(const XmlElement& pci, std::vector<std::string> switches,
              int node) {
    PciDevice device = deviceOf(pci);
    device.numaNode = node;
    device.switches = switches;
    bool isDevice = false;
    for (const XmlElement& child : pci.children) {
      if (child.name == "gpu")
        addGpu(child, device);
      if (child.name == "nic")
        addNics(child, device);
      isDevice |= child.name == "gpu" || child.name == "nic";
    }
    if (isDevice)
      return;
    machine.switches.push_back(device);
    switches.push_back(device.busId);
    addChildren(pci, switches, node);
  }

  static PciDevice deviceOf(const XmlElement& pci) {
    PciDevice device;
    device.busId = pci.valueOf("busid");
    device.classCode = pci.valueOf("class");
    device.vendor = pci.valueOf("vendor");
    device.device = pci.valueOf("device");
    device.subsystemVendor = pci.valueOf("subsystem_vendor");
    device.subsystemDevice = pci.valueOf("subsystem_device");
    device.linkSpeed = pci.valueOf("link_speed");
    device.linkWidth = numberOr(pci.valueOf("link_width"), -1);
    device.line = pci.position.line;
    return device;
  }

  void addGpu(const XmlElement& element, const PciDevice& device) {
    Gpu gpu;
    gpu.pci = device;
    gpu.index = numberOr(element.valueOf("dev"), int(machine.gpus.size()));
    gpu.computeCapability = numberOr(element.valueOf("sm"), 0);
    for (const XmlElement& child : element.children) {
      const int count = numberOr(child.valueOf("count"), 0);
      if (child.name == "nvlink") {
        const std::string target = child.valueOf("target");
        gpu.links.push_back({target == hiddenTarget ? "" : target, count});
      }
      if (child.name == "c2c") {
        gpu.chipLinks = count;
        gpu.chipBandwidth = numberOr(child.valueOf("bw"), 0);
      }
    }
    machine.gpus.push_back(std::move(gpu));
  }

  void addNics(const XmlElement& element, const PciDevice& device) {
    for (const XmlElement& net : element.children) {
      if (net.name != "net")
        continue;
      Nic nic;
      nic.pci = device;
      nic.name = net.valueOf("name");
      nic.megabits = numberOr(net.valueOf("speed"), -1);
      nic.port = numberOr(net.valueOf("port"), 1);
      nic.guid = net.valueOf("guid");
      nic.isRdma = !nic.guid.empty();
      machine.nics.push_back(std::move(nic));
    }
  }

  Machine machine;
};

} // namespace

Machine machineOf(const XmlElement& system) {
  return NcclXmlReader().read(system);
}

} // namespace reciperun::topology
