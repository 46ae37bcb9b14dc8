// Prints the measurements of a device.

#ifndef RECIPERUN_BENCH_DEVICEREPORT_H
#define RECIPERUN_BENCH_DEVICEREPORT_H

#include "runtime/bench/DeviceBench.h"

#include <string>
#include <vector>

namespace reciperun::bench {

struct DeviceReport {
  std::string device; // its name, `NVIDIA H200`
  bool isGpu = false;
  std::vector<Measurement> measurements;
};

/// A line for each measurement, and the figures of the hardware.
std::string toTable(const DeviceReport& report);

/// A recipe file that declares the device: the hardware of the standard library
/// with that name, with the measured figures.
std::string toRecipe(const DeviceReport& report);

/// `device`; `hardware`, the figures by field; `measurements` with `op`,
/// `type`, `sizes`, `flops` and `bytes` of one run, and its `fastest` and
/// `sustained` seconds.
std::string toJson(const DeviceReport& report);

} // namespace reciperun::bench

#endif // RECIPERUN_BENCH_DEVICEREPORT_H
