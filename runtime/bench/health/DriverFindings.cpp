// See DriverFindings.h.

#include "runtime/bench/health/DriverFindings.h"

#include "runtime/base/Text.h"

#include <optional>

namespace reciperun::bench {
namespace {

using Counter = std::optional<uint64_t> nvml::GpuHealth::*;

/// How much a counter has grown; 0 where it is unknown.
uint64_t growthOf(const DriverSamples& samples, Counter counter) {
  const auto before = samples.before.*counter, after = samples.after.*counter;
  return before && after && *after > *before ? *after - *before : 0;
}

void addMemoryFindings(const nvml::GpuHealth& health, RankHealth& rank) {
  if (health.eccUncorrected.value_or(0) > 0)
    rank.faults.push_back(std::to_string(*health.eccUncorrected) +
                          " uncorrected memory errors since the driver was "
                          "loaded");
  if (health.hasRemapFailed.value_or(false))
    rank.faults.push_back("a bad row of its memory could not be remapped");
  if (health.isRemapPending.value_or(false))
    rank.faults.push_back("bad rows of its memory wait to be remapped: reset "
                          "the GPU");
  if (health.eccCorrected.value_or(0) > 0)
    rank.notes.push_back(std::to_string(*health.eccCorrected) +
                         " corrected memory errors since the driver was "
                         "loaded");
}

void addLinkFindings(const DriverSamples& samples, RankHealth& rank) {
  const struct {
    Counter counter;
    const char* name;
  } counters[] = {{&nvml::GpuHealth::linkReplays, "NVLink replays"},
                  {&nvml::GpuHealth::linkRecoveries, "NVLink recoveries"},
                  {&nvml::GpuHealth::linkCrcErrors, "NVLink CRC errors"},
                  {&nvml::GpuHealth::pcieReplays, "PCIe replays"}};
  for (const auto& each : counters)
    if (const uint64_t growth = growthOf(samples, each.counter))
      rank.faults.push_back(std::to_string(growth) + " " + each.name +
                            " during the measurement");
  const nvml::GpuHealth& after = samples.after;
  if (after.pcieWidth && after.mostPcieWidth &&
      *after.pcieWidth < *after.mostPcieWidth)
    rank.faults.push_back("uses " + std::to_string(*after.pcieWidth) + " of " +
                          std::to_string(*after.mostPcieWidth) +
                          " lanes of PCIe");
}

void addClockFindings(const DriverSamples& samples, RankHealth& rank) {
  const uint64_t reasons = samples.clockReasons;
  const nvml::GpuHealth& after = samples.after;
  const std::string heat =
      after.temperature ? formatted(" (%.0f C)", *after.temperature) : "";
  if (reasons & (nvml::thermalSlowdown | nvml::hardwareThermalSlowdown))
    rank.faults.push_back("heat lowered the clock" + heat);
  if (reasons & nvml::powerBrake)
    rank.faults.push_back("the power supply lowered the clock");
  else if (reasons & nvml::hardwareSlowdown &&
           !(reasons & nvml::hardwareThermalSlowdown))
    rank.faults.push_back("the hardware lowered the clock");
  if (after.powerLimit && after.defaultPowerLimit &&
      *after.powerLimit < *after.defaultPowerLimit)
    rank.faults.push_back(formatted("a power limit of %.0f W, by default %.0f",
                                    *after.powerLimit,
                                    *after.defaultPowerLimit));
  if (reasons & nvml::powerCap && after.powerLimit)
    rank.notes.push_back(formatted("the power limit of %.0f W lowered the "
                                   "clock, as large matmuls do",
                                   *after.powerLimit));
}

} // namespace

void addDriverFindings(const DriverSamples& samples, RankHealth& rank) {
  addMemoryFindings(samples.after, rank);
  addLinkFindings(samples, rank);
  addClockFindings(samples, rank);
}

} // namespace reciperun::bench
