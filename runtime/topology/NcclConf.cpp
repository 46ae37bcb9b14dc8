// See NcclConf.h.

#include "runtime/topology/NcclConf.h"

#include "runtime/topology/Remarks.h"

#include <algorithm>

namespace reciperun::topology {
namespace {

constexpr const char* vendorOfEfa = "0x1d0f"; // Amazon
constexpr int firstWithMulticast = 90;        // compute capability

constexpr const char* debugText =
    "\n"
    "# NCCL says nothing about errors by default; this names their cause.\n"
    "NCCL_DEBUG=WARN\n";

constexpr const char* multicastText =
    "\n"
    "# NVLink multicast (NVLS) is a resource of the whole host, which a "
    "program\n"
    "# that crashes may leave unusable for all others. reciperun has it off, "
    "too.\n"
    "# Cost, measured: all-reduce of 1 GiB on 4 H200, NCCL 2.28.9, 355 GB/s "
    "of\n"
    "# bus bandwidth without it. Published for 8 H100: 370 GB/s without, 480 "
    "GB/s\n"
    "# with it. Where jobs own their hosts, remove this line.\n"
    "NCCL_NVLS_ENABLE=0\n";

constexpr const char* hugePageText =
    "\n"
    "# With huge pages of the EFA provider, a process that forks fails with\n"
    "# `Cannot allocate memory`. From AWS's advice on EFA; not measured here.\n"
    "FI_EFA_USE_HUGE_PAGE=0\n";

/// The RDMA devices that collectives are to use, where there are others.
std::string devicesText(const Machine& machine) {
  const int64_t fastest = fastestRdma(machine);
  std::string used, reasons;
  for (const Nic& nic : machine.nics) {
    if (!nic.isRdma)
      continue;
    const bool isSlow = nic.megabits > 0 && nic.megabits < fastest;
    if (!nic.isDown() && !isSlow) {
      used += (used.empty() ? "" : ",") + nic.name;
      continue;
    }
    reasons += "# " + nic.name + ": " +
               (nic.isDown() ? nic.state
                             : rateText(nic.megabits) + ", the others " +
                                   rateText(fastest)) +
               "\n";
  }
  if (used.empty() || reasons.empty())
    return "";
  return "\n# NCCL would use all RDMA devices, and wait for the slowest. Found "
         "in sysfs:\n" +
         reasons + "NCCL_IB_HCA==" + used + "\n";
}

bool hasMulticast(const Machine& machine) {
  return std::ranges::any_of(machine.gpus, [](const Gpu& gpu) {
    return gpu.computeCapability >= firstWithMulticast && gpu.linkCount() > 0;
  });
}

} // namespace

std::string ncclConf(const Machine& machine) {
  std::string text =
      "# NCCL's settings for hosts like " +
      (machine.host.empty() ? "this one" : "`" + machine.host + "`") +
      ", by `reciperun topology --nccl-conf`.\n"
      "# Name this file in NCCL_CONF_FILE, or copy it to /etc/nccl.conf. "
      "Variables\n"
      "# of the environment win.\n";
  text += debugText;
  if (hasMulticast(machine))
    text += multicastText;
  text += devicesText(machine);
  if (std::ranges::any_of(machine.nics, [](const Nic& nic) {
        return nic.isRdma && nic.pci.vendor == vendorOfEfa;
      }))
    text += hugePageText;
  return text;
}

} // namespace reciperun::topology
