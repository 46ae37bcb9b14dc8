// See Remarks.h.

#include "runtime/topology/Remarks.h"

#include "runtime/base/Text.h"

#include <algorithm>

namespace reciperun::topology {
namespace {

std::string nameOfGpu(const Gpu& gpu) {
  return "GPU " + std::to_string(gpu.index) + " (" + gpu.pci.busId + ")";
}

void remarkOnGpu(const Machine& machine, const Gpu& gpu,
                 std::vector<std::string>& remarks) {
  if (gpu.index < 0) {
    if (!machine.driver.empty())
      remarks.push_back("the driver does not know the GPU " + gpu.pci.busId);
    return;
  }
  for (const Gpu& other : machine.gpus)
    if (other.computeCapability == gpu.computeCapability &&
        other.linkCount() > gpu.linkCount()) {
      remarks.push_back(nameOfGpu(gpu) + " has " +
                        std::to_string(gpu.linkCount()) + " NVLinks, and " +
                        nameOfGpu(other) + " has " +
                        std::to_string(other.linkCount()));
      break;
    }
  if (gpu.pci.widthNow > 0 && gpu.pci.widthNow < gpu.pci.linkWidth)
    remarks.push_back(nameOfGpu(gpu) + " uses " +
                      std::to_string(gpu.pci.widthNow) + " of " +
                      std::to_string(gpu.pci.linkWidth) + " lanes of PCIe");
}

void remarkOnNic(const Machine& machine, const Nic& nic,
                 std::vector<std::string>& remarks) {
  if (!nic.isRdma)
    return;
  const int64_t fastest = fastestRdma(machine);
  if (nic.isDown())
    remarks.push_back("`" + nic.name + "` is " + nic.state);
  else if (nic.megabits > 0 && nic.megabits < fastest)
    remarks.push_back("`" + nic.name + "` has " + rateText(nic.megabits) +
                      ", and other RDMA devices have " + rateText(fastest));
}

} // namespace

int64_t fastestRdma(const Machine& machine) {
  int64_t fastest = -1;
  for (const Nic& nic : machine.nics)
    if (nic.isRdma && !nic.isDown())
      fastest = std::max(fastest, nic.megabits);
  return fastest;
}

std::string rateText(int64_t megabits) {
  return megabits <= 0 ? "" : formatted("%g Gb/s", double(megabits) / 1000);
}

std::vector<std::string> remarksOn(const Machine& machine) {
  std::vector<std::string> remarks;
  for (const Gpu& gpu : machine.gpus)
    remarkOnGpu(machine, gpu, remarks);
  for (const Nic& nic : machine.nics)
    remarkOnNic(machine, nic, remarks);
  return remarks;
}

} // namespace reciperun::topology
