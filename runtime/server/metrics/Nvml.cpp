// Declares the part of NVML's interface that it calls: nvml.h is not on all
// machines that build.

#include "runtime/server/metrics/Nvml.h"

#include <dlfcn.h>

namespace reciperun::server {
namespace {

constexpr size_t uuidBytes = 96; // NVML_DEVICE_UUID_V2_BUFFER_SIZE
constexpr double unitsOfMilli = 1000;

template <class Function>
bool find(void* library, const char* name, Function*& target) {
  target = reinterpret_cast<Function*>(dlsym(library, name));
  return target != nullptr;
}

} // namespace

/// By their declarations in the reference of NVML's API.
struct Nvml::Functions {
  using Result = int; // nvmlReturn_t; 0 is success
  using Handle = void*;

  /// nvmlUtilization_t, in percent.
  struct Utilization {
    unsigned int gpu, memory;
  };
  /// nvmlMemory_t, in bytes.
  struct Memory {
    unsigned long long total, free, used;
  };

  Result (*init)();
  Result (*shutdown)();
  Result (*count)(unsigned int*);
  Result (*handle)(unsigned int index, Handle*);
  Result (*uuid)(Handle, char*, unsigned int length);
  Result (*utilization)(Handle, Utilization*);
  Result (*memory)(Handle, Memory*);
  Result (*powerUsage)(Handle, unsigned int* milliwatts);
  Result (*powerLimit)(Handle, unsigned int* milliwatts);
  Result (*energy)(Handle, unsigned long long* millijoules);

  bool load(void* library) {
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

  std::optional<double> watts(Result (*of)(Handle, unsigned int* milliwatts),
                              Handle device) const {
    unsigned int value = 0;
    if (of(device, &value) != 0)
      return std::nullopt;
    return value / unitsOfMilli;
  }
  std::optional<double> joules(Handle device) const {
    unsigned long long value = 0;
    if (energy(device, &value) != 0)
      return std::nullopt;
    return double(value) / unitsOfMilli;
  }
};

struct Nvml::Device {
  Functions::Handle handle = nullptr;
  std::string uuid;
  std::optional<double> firstEnergy; // joules since the driver was loaded
};

Nvml::Nvml() = default;

Nvml::~Nvml() {
  if (call)
    call->shutdown();
  if (library)
    dlclose(library);
}

std::unique_ptr<Nvml> Nvml::open(const std::string& name) {
  std::unique_ptr<Nvml> made(new Nvml);
  made->library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!made->library)
    return nullptr;
  auto functions = std::make_unique<Functions>();
  if (!functions->load(made->library) || functions->init() != 0)
    return nullptr;
  made->call = std::move(functions);
  made->findDevices();
  return made;
}

void Nvml::findDevices() {
  unsigned int count = 0;
  if (call->count(&count) != 0)
    return;
  for (unsigned int i = 0; i < count; ++i) {
    Device device;
    char uuid[uuidBytes] = {};
    if (call->handle(i, &device.handle) != 0 ||
        call->uuid(device.handle, uuid, sizeof uuid) != 0)
      continue; // another user's
    device.uuid = uuid;
    device.firstEnergy = call->joules(device.handle);
    devices.push_back(std::move(device));
  }
}

std::vector<GpuStatus> Nvml::sample() const {
  std::vector<GpuStatus> all;
  for (const Device& device : devices) {
    GpuStatus& status = all.emplace_back();
    status.uuid = device.uuid;
    if (Functions::Utilization value;
        call->utilization(device.handle, &value) == 0)
      status.utilization = value.gpu / 100.0;
    if (Functions::Memory value; call->memory(device.handle, &value) == 0) {
      status.memoryTotal = value.total;
      status.memoryUsed = value.used;
    }
    status.powerUsage = call->watts(call->powerUsage, device.handle);
    status.powerLimit = call->watts(call->powerLimit, device.handle);
    if (const auto now = call->joules(device.handle); now && device.firstEnergy)
      status.energy = *now - *device.firstEnergy;
  }
  return all;
}

} // namespace reciperun::server
