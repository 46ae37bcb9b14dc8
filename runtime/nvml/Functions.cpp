// See Functions.h.

#include "runtime/nvml/Functions.h"

#include <dlfcn.h>

namespace reciperun::nvml {
namespace {

template <class Function>
bool find(void* library, const char* name, Function*& target) {
  target = reinterpret_cast<Function*>(dlsym(library, name));
  return target != nullptr;
}

} // namespace

bool Functions::load(void* library) {
  find(library, "nvmlSystemGetDriverVersion", driverVersion);
  find(library, "nvmlDeviceGetName", name);
  find(library, "nvmlDeviceGetPciInfo_v3", pciInfo);
  find(library, "nvmlDeviceGetCudaComputeCapability", computeCapability);
  find(library, "nvmlDeviceGetNvLinkState", linkState);
  find(library, "nvmlDeviceGetNvLinkCapability", linkCapability);
  find(library, "nvmlDeviceGetNvLinkRemotePciInfo_v2", linkTarget);
  find(library, "nvmlDeviceGetNvLinkErrorCounter", linkErrors);
  find(library, "nvmlDeviceGetFieldValues", fields);
  find(library, "nvmlDeviceGetCurrPcieLinkGeneration", pcieGeneration);
  find(library, "nvmlDeviceGetCurrPcieLinkWidth", pcieWidth);
  find(library, "nvmlDeviceGetMaxPcieLinkGeneration", mostPcieGeneration);
  find(library, "nvmlDeviceGetMaxPcieLinkWidth", mostPcieWidth);
  find(library, "nvmlDeviceGetPcieReplayCounter", pcieReplays);
  find(library, "nvmlDeviceGetTotalEccErrors", eccErrors);
  find(library, "nvmlDeviceGetRemappedRows", remappedRows);
  find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", clockReasons);
  find(library, "nvmlDeviceGetPowerManagementDefaultLimit", defaultPowerLimit);
  find(library, "nvmlDeviceGetTemperature", temperature);
  find(library, "nvmlDeviceGetClockInfo", clock);
  find(library, "nvmlDeviceGetMaxClockInfo", mostClock);
  return find(library, "nvmlInit_v2", init) &&
         find(library, "nvmlShutdown", shutdown) &&
         find(library, "nvmlDeviceGetCount_v2", count) &&
         find(library, "nvmlDeviceGetHandleByIndex_v2", handle) &&
         find(library, "nvmlDeviceGetUUID", uuid) &&
         find(library, "nvmlDeviceGetUtilizationRates", utilization) &&
         find(library, "nvmlDeviceGetMemoryInfo", memory) &&
         find(library, "nvmlDeviceGetPowerUsage", powerUsage) &&
         find(library, "nvmlDeviceGetEnforcedPowerLimit", powerLimit) &&
         find(library, "nvmlDeviceGetTotalEnergyConsumption", energy);
}

} // namespace reciperun::nvml
