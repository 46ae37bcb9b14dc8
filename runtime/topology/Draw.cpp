// See Draw.h.

#include "runtime/topology/Draw.h"

#include "runtime/base/Text.h"
#include "runtime/topology/Paths.h"
#include "runtime/topology/Remarks.h"

#include <algorithm>

namespace reciperun::topology {
namespace {

struct Word {
  const char* name;
  const char* meaning;
};
constexpr Word words[] = {{"NV", "the number of NVLinks"},
                          {"PIX", "at most one PCIe switch"},
                          {"PXB", "several PCIe switches"},
                          {"PHB", "the host bridge of PCIe, in the processor"},
                          {"NODE", "several host bridges of one NUMA node"},
                          {"SYS", "the link between NUMA nodes"}};

std::string counted(size_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string titleOf(const Machine& machine) {
  int cores = 0;
  size_t nodes = 0;
  for (const NumaNode& node : machine.nodes)
    if (node.index >= 0) {
      cores += node.coreCount;
      ++nodes;
    }
  std::string text = machine.host.empty() ? "" : machine.host + ": ";
  text += counted(nodes, "NUMA node") + ", " + counted(size_t(cores), "core") +
          ", " + counted(machine.gpus.size(), "GPU") + ", " +
          counted(machine.nics.size(), "NIC");
  if (!machine.driver.empty())
    text += ", NVIDIA driver " + machine.driver;
  return text + "\n";
}

/// A cell in a column.
std::string padded(const std::string& text, size_t width) {
  return text + std::string(width > text.size() ? width - text.size() : 1, ' ');
}

std::string withoutEndBlanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

/// What a column or row of the matrix stands for.
struct Endpoint {
  std::string name; // `GPU0`
  const PciDevice* pci;
  const Gpu* gpu; // null of a NIC
};

std::vector<Endpoint> endpointsOf(const Machine& machine) {
  std::vector<Endpoint> all;
  for (const Gpu& gpu : machine.gpus)
    all.push_back({"GPU" + (gpu.index < 0 ? "?" : std::to_string(gpu.index)),
                   &gpu.pci, &gpu});
  for (size_t i = 0; i < machine.nics.size(); ++i)
    all.push_back({"NIC" + std::to_string(i), &machine.nics[i].pci, nullptr});
  return all;
}

std::string pathText(const Machine& machine, const Endpoint& a,
                     const Endpoint& b) {
  if (a.pci == b.pci)
    return "X";
  return a.gpu && b.gpu ? topology::pathText(machine, *a.gpu, *b.gpu)
                        : nameOf(pciPathBetween(*a.pci, *b.pci));
}

/// The words that occur in the matrix.
std::string legendOf(const std::string& matrix) {
  std::string text;
  for (const Word& word : words)
    if (matrix.find(" " + std::string(word.name)) != matrix.npos)
      text += "  " + padded(word.name, 5) + word.meaning + "\n";
  return text.empty() ? "" : "\n" + text;
}

std::string matrixOf(const Machine& machine) {
  const std::vector<Endpoint> all = endpointsOf(machine);
  if (all.empty())
    return "";
  constexpr size_t cell = 6;
  std::string header = std::string(cell, ' '), rows;
  for (const Endpoint& each : all)
    header += padded(each.name, cell);
  header += "NUMA  cores";
  for (const Endpoint& row : all) {
    std::string line = padded(row.name, cell);
    for (const Endpoint& column : all)
      line += padded(pathText(machine, row, column), cell);
    const NumaNode* node = machine.findNode(row.pci->numaNode);
    line += padded(std::to_string(row.pci->numaNode), cell) +
            (node ? node->cores : "");
    rows += withoutEndBlanks(line);
  }
  return "\n" + withoutEndBlanks(header) + rows + legendOf(rows);
}

// ---- the tree

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts)
    if (!part.empty())
      text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string linkText(const PciDevice& device) {
  if (device.linkSpeed.empty() && device.linkWidth < 0)
    return "";
  std::string speed = device.linkSpeed;
  if (!speed.empty() && speed.find("PCIe") == speed.npos)
    speed += " PCIe";
  return speed +
         (device.linkWidth > 0 ? " x" + std::to_string(device.linkWidth) : "");
}

std::string textOf(const Gpu& gpu) {
  const int links = gpu.linkCount();
  return join(
      {gpu.name, linkText(gpu.pci),
       links > 0 ? counted(size_t(links), "NVLink") : "",
       gpu.chipLinks > 0 ? counted(size_t(gpu.chipLinks), "C2C link") : ""});
}

std::string textOf(const Nic& nic) {
  std::string name = nic.name;
  if (!nic.interface.empty() && nic.interface != nic.name)
    name += " (" + nic.interface + ")";
  const std::string rate = rateText(nic.megabits);
  return join({name,
               rate.empty() || nic.linkLayer.empty()
                   ? rate + nic.linkLayer
                   : rate + " " + nic.linkLayer,
               nic.state});
}

class TreeText {
public:
  explicit TreeText(const Machine& machine) : machine(machine) {}

  std::string write() {
    for (const NumaNode& node : machine.nodes) {
      text += "\n";
      text += node.index < 0 ? "no NUMA node"
                             : "NUMA node " + std::to_string(node.index);
      const std::string details =
          join({node.cores.empty() ? "" : "cores " + node.cores,
                node.bytes > 0 ? bytesText(node.bytes) : ""});
      text += details.empty() ? "\n" : ": " + details + "\n";
      writeDevices(node.index, {});
    }
    return text;
  }

private:
  /// The devices and switches right below a switch, or below the node.
  void writeDevices(int node, const std::vector<std::string>& switches) {
    const std::string indent(2 * switches.size() + 2, ' ');
    for (const Endpoint& each : endpointsOf(machine))
      if (each.pci->numaNode == node && each.pci->switches == switches)
        text += indent + padded(each.name, 6) + each.pci->busId + "  " +
                describe(each) + "\n";
    for (const PciDevice& each : machine.switches) {
      if (each.numaNode != node || each.switches != switches)
        continue;
      text += indent + "switch " + join({each.busId, linkText(each)}) + "\n";
      std::vector<std::string> below = switches;
      below.push_back(each.busId);
      writeDevices(node, below);
    }
  }

  std::string describe(const Endpoint& endpoint) const {
    if (endpoint.gpu)
      return textOf(*endpoint.gpu);
    for (const Nic& nic : machine.nics)
      if (&nic.pci == endpoint.pci)
        return textOf(nic);
    return "";
  }

  const Machine& machine;
  std::string text;
};

} // namespace

std::string drawingOf(const Machine& machine) {
  return titleOf(machine) + matrixOf(machine) + TreeText(machine).write();
}

std::vector<std::vector<std::string>> pathsOf(const Machine& machine) {
  const std::vector<Endpoint> all = endpointsOf(machine);
  std::vector<std::vector<std::string>> paths;
  for (const Endpoint& row : all) {
    auto& line = paths.emplace_back();
    for (const Endpoint& column : all)
      line.push_back(pathText(machine, row, column));
  }
  return paths;
}

} // namespace reciperun::topology
