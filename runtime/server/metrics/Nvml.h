// The GPUs of this machine by NVML, the driver's library for monitoring. It is
// opened at run time: a machine without a driver has none.

#ifndef RECIPERUN_SERVER_METRICS_NVML_H
#define RECIPERUN_SERVER_METRICS_NVML_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace reciperun::server {

/// What a GPU does not support is absent.
struct GpuStatus {
  std::string uuid;
  std::optional<double> utilization;   // from 0 to 1
  std::optional<uint64_t> memoryTotal; // bytes
  std::optional<uint64_t> memoryUsed;
  std::optional<double> powerUsage; // watts
  std::optional<double> powerLimit;
  std::optional<double> energy; // joules since the library was opened
};

class Nvml {
public:
  static constexpr const char* defaultLibrary = "libnvidia-ml.so.1";

  /// Null when there is no such library, when it lacks a function, and when it
  /// finds no driver.
  static std::unique_ptr<Nvml> open(const std::string& library);
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  /// All GPUs now. Takes some milliseconds.
  std::vector<GpuStatus> sample() const;

private:
  struct Functions;
  struct Device;

  Nvml();
  void findDevices();

  void* library = nullptr;
  std::unique_ptr<Functions> call;
  std::vector<Device> devices;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_METRICS_NVML_H
