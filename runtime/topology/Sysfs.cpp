// See Sysfs.h.

#include "runtime/topology/Sysfs.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <optional>

namespace reciperun::topology {
namespace {

namespace fs = std::filesystem;

/// The first line of a file; nullopt when it cannot be read or is empty.
std::optional<std::string> lineOf(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || line.empty())
    return std::nullopt;
  return line;
}

void copyLine(const fs::path& path, std::string& target) {
  if (const auto line = lineOf(path))
    target = *line;
}

/// The number that a file begins with; -1 when there is none.
int64_t numberIn(const fs::path& path) {
  const std::string line = lineOf(path).value_or("");
  int64_t number = -1;
  std::from_chars(line.data(), line.data() + line.size(), number);
  return number;
}

/// The rate of a link, `32.0 GT/s PCIe`, as a number; 0 when unknown.
double rateOf(const std::string& speed) {
  return std::atof(speed.c_str());
}

/// `0x946dae0300aabbcc` of `946d:ae03:00aa:bbcc`; empty of zeros.
std::string guidOf(std::string text) {
  std::erase(text, ':');
  if (text.find_first_not_of('0') == text.npos)
    return {};
  return "0x" + text;
}

/// `active` of `4: ACTIVE`.
std::string stateOf(const std::string& line) {
  std::string word = line.substr(line.find_first_not_of("0123456789: "));
  std::ranges::transform(word, word.begin(),
                         [](unsigned char c) { return char(std::tolower(c)); });
  return word;
}

} // namespace

void Sysfs::describe(PciDevice& device) const {
  const fs::path folder = sys / "bus/pci/devices" / device.busId;
  copyLine(folder / "class", device.classCode);
  copyLine(folder / "vendor", device.vendor);
  copyLine(folder / "device", device.device);
  copyLine(folder / "subsystem_vendor", device.subsystemVendor);
  copyLine(folder / "subsystem_device", device.subsystemDevice);
  copyLine(folder / "max_link_speed", device.linkSpeed);
  if (const int64_t width = numberIn(folder / "max_link_width"); width > 0)
    device.linkWidth = int(width);
  if (const int64_t width = numberIn(folder / "current_link_width"); width > 0)
    device.widthNow = int(width);
  if (device.port.empty())
    return;
  const fs::path port = sys / "bus/pci/devices" / device.port;
  const std::string speed = lineOf(port / "max_link_speed").value_or("");
  if (rateOf(speed) > 0 && rateOf(speed) < rateOf(device.linkSpeed))
    device.linkSpeed = speed;
  if (const int64_t width = numberIn(port / "max_link_width"); width > 0)
    device.linkWidth = std::min(device.linkWidth, int(width));
}

int Sysfs::portsOf(const std::string& rdmaDevice) const {
  const fs::path ports = sys / "class/infiniband" / rdmaDevice / "ports";
  int count = 0;
  std::error_code ignored;
  while (fs::exists(ports / std::to_string(count + 1), ignored))
    ++count;
  return count;
}

void Sysfs::describeRdma(Nic& nic) const {
  const fs::path folder = sys / "class/infiniband" / nic.name;
  const fs::path port = folder / "ports" / std::to_string(nic.port);
  if (const int64_t gigabits = numberIn(port / "rate"); gigabits > 0)
    nic.megabits = gigabits * 1000;
  copyLine(port / "link_layer", nic.linkLayer);
  if (const auto line = lineOf(port / "state"))
    nic.state = stateOf(*line);
  if (const auto line = lineOf(folder / "node_guid"))
    nic.guid = guidOf(*line);
}

void Sysfs::describeInterface(Nic& nic) const {
  const fs::path folder = sys / "class/net" / nic.interface;
  // Reading the speed of an interface that is down fails.
  if (const int64_t speed = numberIn(folder / "speed"); speed > 0)
    nic.megabits = speed;
  if (const auto line = lineOf(folder / "operstate"))
    nic.state = *line == "up" ? "active" : *line == "unknown" ? "" : *line;
  nic.linkLayer = "Ethernet";
}

void Sysfs::describe(Nic& nic) const {
  if (nic.isRdma)
    describeRdma(nic);
  else
    describeInterface(nic);
}

} // namespace reciperun::topology
