// See MachineMetrics.h.

#include "runtime/server/metrics/MachineMetrics.h"

#include <array>
#include <fstream>
#include <sstream>
#include <utility>

namespace reciperun::server {
namespace {

constexpr std::chrono::seconds shortestSample{1};
constexpr uint64_t bytesOfKilobyte = 1024;

/// How far a count has risen; that of waiting for devices may fall.
double rise(uint64_t from, uint64_t to) {
  return to > from ? double(to - from) : 0;
}

std::string textOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void addGpu(const nvml::GpuStatus& gpu, metrics::MetricFamilies& families) {
  const prometheus::Labels labels = {{"gpu_uuid", gpu.uuid}};
  auto add = [&](const char* name, const char* help, const auto& value) {
    if (value)
      families.addGauge(name, help, labels, double(*value));
  };
  add("nv_gpu_utilization", "Part of the time that the GPU computes.",
      gpu.utilization);
  add("nv_gpu_memory_total_bytes", "Memory of the GPU in bytes.",
      gpu.memoryTotal);
  add("nv_gpu_memory_used_bytes", "Memory of the GPU in use in bytes.",
      gpu.memoryUsed);
  add("nv_gpu_power_usage", "Power of the GPU in watts.", gpu.powerUsage);
  add("nv_gpu_power_limit", "Limit of the GPU's power in watts.",
      gpu.powerLimit);
  if (gpu.energy)
    families.addCounter("nv_energy_consumption",
                        "Energy of the GPU since the server's start in joules.",
                        labels, *gpu.energy);
}

} // namespace

std::optional<CpuTicks> readCpuTicks(const std::string& text) {
  std::istringstream in(text);
  std::string name;
  // user, nice, system, idle, iowait, irq, softirq, steal
  std::array<uint64_t, 8> of = {};
  if (!(in >> name) || name != "cpu")
    return std::nullopt;
  for (uint64_t& each : of)
    if (!(in >> each))
      return std::nullopt;
  return CpuTicks{.busy = of[0] + of[1] + of[2] + of[5] + of[6] + of[7],
                  .idle = of[3] + of[4]};
}

std::optional<MachineMemory> readMemory(const std::string& text) {
  std::optional<uint64_t> total, available;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string name;
    uint64_t kilobytes = 0;
    if (!(fields >> name >> kilobytes))
      continue;
    if (name == "MemTotal:")
      total = kilobytes;
    if (name == "MemAvailable:")
      available = kilobytes;
  }
  if (!total || !available || *available > *total)
    return std::nullopt;
  return MachineMemory{.total = *total * bytesOfKilobyte,
                       .used = (*total - *available) * bytesOfKilobyte};
}

MachineMetrics::MachineMetrics(std::filesystem::path proc, std::string nvml)
    : proc(std::move(proc)), gpus(std::move(nvml)) {
  ticks = readCpuTicks(textOf(this->proc / "stat"));
  sampled = Clock::now();
}

std::optional<double> MachineMetrics::cpuUtilization() {
  const Clock::time_point time = Clock::now();
  if (utilization && time - sampled < shortestSample)
    return utilization;
  const auto now = readCpuTicks(textOf(proc / "stat"));
  if (now && ticks) {
    const double busy = rise(ticks->busy, now->busy),
                 all = busy + rise(ticks->idle, now->idle);
    utilization = all > 0 ? busy / all : 0;
  }
  ticks = now;
  sampled = time;
  return utilization;
}

MachineStatus MachineMetrics::status() {
  return {.cpuUtilization = cpuUtilization(),
          .memory = readMemory(textOf(proc / "meminfo")),
          .gpus = gpus.last()};
}

void MachineMetrics::collect(metrics::MetricFamilies& families) {
  const MachineStatus now = status();
  if (now.cpuUtilization)
    families.addGauge("nv_cpu_utilization",
                      "Part of the time that the processors compute.", {},
                      *now.cpuUtilization);
  if (now.memory) {
    families.addGauge("nv_cpu_memory_total_bytes",
                      "Memory of the machine in bytes.", {},
                      double(now.memory->total));
    families.addGauge("nv_cpu_memory_used_bytes",
                      "Memory of the machine in use in bytes.", {},
                      double(now.memory->used));
  }
  // There is no pool of pinned memory.
  families.addGauge("nv_pinned_memory_pool_total_bytes",
                    "Pinned memory of the pool in bytes.", {}, 0);
  families.addGauge("nv_pinned_memory_pool_used_bytes",
                    "Pinned memory of the pool in use in bytes.", {}, 0);
  for (const nvml::GpuStatus& gpu : now.gpus)
    addGpu(gpu, families);
}

} // namespace reciperun::server
