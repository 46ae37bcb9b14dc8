// The GPUs of this machine by NVML, the driver's library for monitoring. It is
// opened at run time: a machine without a driver has none.

#ifndef RECIPERUN_NVML_LIBRARY_H
#define RECIPERUN_NVML_LIBRARY_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace reciperun::nvml {

/// What a GPU does now. What it does not support is absent.
struct GpuStatus {
  std::string uuid;
  std::optional<double> utilization;   // from 0 to 1
  std::optional<uint64_t> memoryTotal; // bytes
  std::optional<uint64_t> memoryUsed;
  std::optional<double> powerUsage; // watts
  std::optional<double> powerLimit;
  std::optional<double> energy; // joules since the library was opened
};

/// Active NVLinks of a GPU with one other end.
struct LinkTarget {
  /// The bus id of a GPU or an NVSwitch, `0000:1b:00.0`; empty where this
  /// machine does not see the device, as in a virtual machine.
  std::string busId;
  int count = 0;
};

/// What a GPU is and how it is attached. What the driver does not tell is empty
/// or 0.
struct Gpu {
  int index = 0; // NVML's, in the order of bus ids
  std::string uuid;
  std::string name;          // `NVIDIA H200`
  std::string busId;         // `0000:1b:00.0`, as in sysfs
  int computeCapability = 0; // 90
  unsigned vendor = 0, device = 0, subsystemVendor = 0, subsystemDevice = 0;
  std::vector<LinkTarget> links; // in the order of the first link of each
  int mostPcieGeneration = 0, mostPcieWidth = 0;
  /// Links to a processor on the same board (C2C), and the rate of each, MB/s.
  int chipLinks = 0, chipBandwidth = 0;

  /// The number of its active NVLinks.
  int linkCount() const;
};

/// Why clocks are below the highest: bits of nvmlClocksEventReasons.
enum ClockReason : uint64_t {
  powerCap = 0x4, // the power limit; usual in large matmuls
  hardwareSlowdown = 0x8,
  thermalSlowdown = 0x20,
  hardwareThermalSlowdown = 0x40,
  powerBrake = 0x80 // the power supply's signal
};

/// Error counters and limits of a GPU. What it does not support is absent.
struct GpuHealth {
  std::optional<double> powerLimit, defaultPowerLimit; // watts
  std::optional<double> temperature;                   // degrees Celsius
  std::optional<double> clock, mostClock;              // of the SMs, MHz
  std::optional<uint64_t> clockReasons;                // bits of ClockReason
  /// Errors of the memory since the driver was loaded.
  std::optional<uint64_t> eccCorrected, eccUncorrected;
  std::optional<bool> isRemapPending, hasRemapFailed; // of rows of the memory
  std::optional<uint64_t> pcieReplays;
  std::optional<int> pcieWidth, mostPcieWidth;
  /// Of all NVLinks together, since they were last reset.
  std::optional<uint64_t> linkReplays, linkRecoveries, linkCrcErrors;
};

class Library {
public:
  static constexpr const char* defaultName = "libnvidia-ml.so.1";

  /// Null when there is no such library, when it lacks a function, and when it
  /// finds no driver.
  static std::unique_ptr<Library> open(const std::string& name);
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  /// `580.95.05`; empty when unknown.
  std::string driverVersion() const;
  /// All GPUs now. Takes some milliseconds.
  std::vector<GpuStatus> sample() const;
  /// How all GPUs are attached.
  std::vector<Gpu> gpus() const;
  /// The health of the GPU with a bus id; nullopt when there is none.
  std::optional<GpuHealth> health(const std::string& busId) const;

private:
  struct Device;

  Library();
  void findDevices();
  void addLinks(Gpu& gpu, const Device& device) const;
  void addChipLinks(Gpu& gpu, const Device& device) const;
  bool isLinkActive(const Device& device, unsigned link) const;
  std::optional<uint64_t> linkErrors(const Device& device, unsigned field,
                                     unsigned counter) const;

  void* library = nullptr;
  std::unique_ptr<struct Functions> call;
  std::vector<Device> devices;
};

/// A bus id as in sysfs, `0000:1b:00.0`, of one with another number of digits
/// of the domain, or with capitals: `00000000:1B:00.0`. Nullopt for other
/// texts.
std::optional<std::string> busIdOf(const std::string& text);

} // namespace reciperun::nvml

#endif // RECIPERUN_NVML_LIBRARY_H
