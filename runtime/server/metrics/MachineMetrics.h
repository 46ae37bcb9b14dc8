// The metrics of the machine, under Triton's names: processors and memory from
// /proc, GPUs by NVML.

#ifndef RECIPERUN_SERVER_METRICS_MACHINEMETRICS_H
#define RECIPERUN_SERVER_METRICS_MACHINEMETRICS_H

#include "runtime/metrics/MetricFamilies.h"
#include "runtime/server/metrics/GpuSampler.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace reciperun::server {

/// The ticks since the start of the machine in which processors were busy and
/// idle.
struct CpuTicks {
  uint64_t busy = 0, idle = 0;

  bool operator==(const CpuTicks&) const = default;
};

/// Parses the text of /proc/stat; nullopt when it has another form.
std::optional<CpuTicks> readCpuTicks(const std::string& text);

struct MachineMemory {
  uint64_t total = 0, used = 0; // bytes

  bool operator==(const MachineMemory&) const = default;
};

/// Parses the text of /proc/meminfo. Memory that is available to programs does
/// not count as used.
std::optional<MachineMemory> readMemory(const std::string& text);

struct MachineStatus {
  std::optional<double> cpuUtilization; // from 0 to 1
  std::optional<MachineMemory> memory;
  std::vector<nvml::GpuStatus> gpus;
};

/// Belongs to the server's thread.
class MachineMetrics {
public:
  explicit MachineMetrics(std::filesystem::path proc = "/proc",
                          std::string nvml = nvml::Library::defaultName);

  /// The current state. The processors' utilization is that since the last
  /// call, over at least a second.
  MachineStatus status();
  void collect(metrics::MetricFamilies& families);

private:
  std::optional<double> cpuUtilization();

  using Clock = std::chrono::steady_clock;

  std::filesystem::path proc;
  GpuSampler gpus;
  std::optional<CpuTicks> ticks; // at `sampled`
  Clock::time_point sampled = {};
  std::optional<double> utilization; // up to `sampled`
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_METRICS_MACHINEMETRICS_H
