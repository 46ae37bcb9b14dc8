// What the driver's counters say about a GPU's health.

#ifndef RECIPERUN_BENCH_HEALTH_DRIVERFINDINGS_H
#define RECIPERUN_BENCH_HEALTH_DRIVERFINDINGS_H

#include "runtime/bench/health/HealthReport.h"
#include "runtime/nvml/Library.h"

#include <cstdint>

namespace reciperun::bench {

/// A GPU's counters around a measurement, and all reasons for lower clocks
/// during it.
struct DriverSamples {
  nvml::GpuHealth before, after;
  uint64_t clockReasons = 0; // bits of nvml::ClockReason
};

/// Adds faults (errors of memory or links, heat, a lowered power limit, missing
/// lanes) and notes to a rank.
void addDriverFindings(const DriverSamples& samples, RankHealth& rank);

} // namespace reciperun::bench

#endif // RECIPERUN_BENCH_HEALTH_DRIVERFINDINGS_H
