// See Library.h.

#include "runtime/nvml/Library.h"

#include "runtime/nvml/Functions.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>

namespace reciperun::nvml {
namespace {

using Number = Functions::Number;
using LongNumber = Functions::LongNumber;

constexpr Number uuidBytes = 96; // NVML_DEVICE_UUID_V2_BUFFER_SIZE
constexpr Number nameBytes = 96; // NVML_DEVICE_NAME_V2_BUFFER_SIZE
constexpr double unitsOfMilli = 1000;

constexpr Number mostLinks = 18;       // NVML_NVLINK_MAX_LINKS
constexpr Number capabilityPeers = 0;  // NVML_NVLINK_CAP_P2P_SUPPORTED
constexpr Number fieldOfReplays = 161; // NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY
constexpr Number fieldOfRecoveries = 162, fieldOfCrcErrors = 163;
constexpr Number fieldOfState = 165;     // NVML_FI_DEV_NVLINK_GET_STATE
constexpr Number fieldOfChipLinks = 170; // NVML_FI_DEV_C2C_LINK_COUNT
constexpr Number fieldOfChipLinkState = 171, fieldOfChipLinkRate = 172;
/// nvmlNvLinkErrorCounter_t, of drivers without these fields.
constexpr Number counterOfReplays = 0, counterOfRecoveries = 1,
                 counterOfCrcErrors = 2;

constexpr Number corrected = 0, uncorrected = 1; // nvmlMemoryErrorType_t
constexpr Number sinceLoading = 0;               // NVML_VOLATILE_ECC
constexpr Number sensorOfGpu = 0;                // NVML_TEMPERATURE_GPU
constexpr Number clockOfSms = 1;                 // NVML_CLOCK_SM

std::optional<double> watts(Functions::Result (*of)(Functions::Handle,
                                                    Number* milliwatts),
                            Functions::Handle device) {
  Number value = 0;
  if (!Functions::succeeds(of, device, &value))
    return std::nullopt;
  return value / unitsOfMilli;
}

std::optional<double> joules(const Functions& call, Functions::Handle device) {
  LongNumber value = 0;
  if (call.energy(device, &value) != 0)
    return std::nullopt;
  return double(value) / unitsOfMilli;
}

/// A number that a function gives about a device.
template <class Result>
std::optional<Result> numberOf(Functions::Result (*of)(Functions::Handle,
                                                       Number*),
                               Functions::Handle device) {
  Number value = 0;
  if (!Functions::succeeds(of, device, &value))
    return std::nullopt;
  return Result(value);
}

std::optional<uint64_t> eccErrors(const Functions& call,
                                  Functions::Handle device, Number type) {
  LongNumber value = 0;
  if (!Functions::succeeds(call.eccErrors, device, type, sinceLoading, &value))
    return std::nullopt;
  return value;
}

std::optional<uint64_t> fieldOf(const Functions& call, Functions::Handle device,
                                Number field, Number link) {
  Functions::FieldValue value = {};
  value.field = field;
  value.scope = link;
  if (!Functions::succeeds(call.fields, device, 1, &value) || value.result != 0)
    return std::nullopt;
  if (value.type == Functions::typeReal)
    return uint64_t(value.value.real);
  if (value.type == Functions::typeNumber)
    return value.value.number;
  return value.value.longNumber;
}

} // namespace

std::optional<std::string> busIdOf(const std::string& text) {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  int end = 0;
  if (std::sscanf(text.c_str(), "%x:%2x:%2x.%1x%n", &domain, &bus, &device,
                  &function, &end) != 4 ||
      size_t(end) != text.size())
    return std::nullopt;
  char made[32];
  std::snprintf(made, sizeof made, "%04x:%02x:%02x.%x", domain, bus, device,
                function);
  return std::string(made);
}

int Gpu::linkCount() const {
  int count = 0;
  for (const LinkTarget& target : links)
    count += target.count;
  return count;
}

struct Library::Device {
  Functions::Handle handle = nullptr;
  std::string uuid;
  std::string busId;                 // empty when unknown
  std::optional<double> firstEnergy; // joules since the driver was loaded
};

Library::Library() = default;

Library::~Library() {
  if (call)
    call->shutdown();
  if (library)
    dlclose(library);
}

std::unique_ptr<Library> Library::open(const std::string& name) {
  std::unique_ptr<Library> made(new Library);
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

void Library::findDevices() {
  Number count = 0;
  if (call->count(&count) != 0)
    return;
  for (Number i = 0; i < count; ++i) {
    Device device;
    char uuid[uuidBytes] = {};
    if (call->handle(i, &device.handle) != 0 ||
        call->uuid(device.handle, uuid, sizeof uuid) != 0)
      continue; // another user's
    device.uuid = uuid;
    device.firstEnergy = joules(*call, device.handle);
    if (Functions::PciInfo pci = {};
        Functions::succeeds(call->pciInfo, device.handle, &pci))
      device.busId = busIdOf(pci.busId).value_or("");
    devices.push_back(std::move(device));
  }
}

std::string Library::driverVersion() const {
  char text[nameBytes] = {};
  return Functions::succeeds(call->driverVersion, text, nameBytes) ? text : "";
}

std::vector<GpuStatus> Library::sample() const {
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
    status.powerUsage = watts(call->powerUsage, device.handle);
    status.powerLimit = watts(call->powerLimit, device.handle);
    if (const auto now = joules(*call, device.handle);
        now && device.firstEnergy)
      status.energy = *now - *device.firstEnergy;
  }
  return all;
}

// ---- how GPUs are attached

bool Library::isLinkActive(const Device& device, unsigned link) const {
  Number supportsPeers = 0;
  if (!Functions::succeeds(call->linkCapability, device.handle, link,
                           capabilityPeers, &supportsPeers) ||
      !supportsPeers)
    return false;
  if (const auto state = fieldOf(*call, device.handle, fieldOfState, link))
    return *state == 1;
  Number isActive = 0;
  return Functions::succeeds(call->linkState, device.handle, link, &isActive) &&
         isActive == 1;
}

void Library::addLinks(Gpu& gpu, const Device& device) const {
  for (Number link = 0; link < mostLinks; ++link) {
    if (!isLinkActive(device, link))
      continue;
    std::string target;
    if (Functions::PciInfo pci = {};
        Functions::succeeds(call->linkTarget, device.handle, link, &pci))
      target = busIdOf(pci.busId).value_or("");
    const auto known = std::ranges::find(gpu.links, target, &LinkTarget::busId);
    if (known == gpu.links.end())
      gpu.links.push_back({target, 1});
    else
      ++known->count;
  }
}

void Library::addChipLinks(Gpu& gpu, const Device& device) const {
  const auto count = fieldOf(*call, device.handle, fieldOfChipLinks, 0);
  for (Number link = 0; link < count.value_or(0); ++link) {
    if (fieldOf(*call, device.handle, fieldOfChipLinkState, link) != 1)
      continue;
    if (const auto rate =
            fieldOf(*call, device.handle, fieldOfChipLinkRate, link)) {
      gpu.chipBandwidth = int(*rate);
      ++gpu.chipLinks;
    }
  }
}

std::vector<Gpu> Library::gpus() const {
  std::vector<Gpu> all;
  for (size_t i = 0; i < devices.size(); ++i) {
    const Device& device = devices[i];
    Gpu& gpu = all.emplace_back();
    gpu.index = int(i);
    gpu.uuid = device.uuid;
    gpu.busId = device.busId;
    if (char text[nameBytes] = {};
        Functions::succeeds(call->name, device.handle, text, nameBytes))
      gpu.name = text;
    if (int major = 0, minor = 0; Functions::succeeds(
            call->computeCapability, device.handle, &major, &minor))
      gpu.computeCapability = 10 * major + minor;
    if (Functions::PciInfo pci = {};
        Functions::succeeds(call->pciInfo, device.handle, &pci)) {
      gpu.vendor = pci.ids & 0xffff;
      gpu.device = pci.ids >> 16;
      gpu.subsystemVendor = pci.subsystemIds & 0xffff;
      gpu.subsystemDevice = pci.subsystemIds >> 16;
    }
    gpu.mostPcieGeneration =
        numberOf<int>(call->mostPcieGeneration, device.handle).value_or(0);
    gpu.mostPcieWidth =
        numberOf<int>(call->mostPcieWidth, device.handle).value_or(0);
    addLinks(gpu, device);
    addChipLinks(gpu, device);
  }
  return all;
}

// ---- health

/// The sum over the active links; nullopt when no link has the counter.
std::optional<uint64_t> Library::linkErrors(const Device& device,
                                            unsigned field,
                                            unsigned counter) const {
  std::optional<uint64_t> sum;
  for (Number link = 0; link < mostLinks; ++link) {
    if (!isLinkActive(device, link))
      continue;
    auto errors = fieldOf(*call, device.handle, field, link);
    if (LongNumber value = 0;
        !errors && Functions::succeeds(call->linkErrors, device.handle, link,
                                       counter, &value))
      errors = value;
    if (errors)
      sum = sum.value_or(0) + *errors;
  }
  return sum;
}

std::optional<GpuHealth> Library::health(const std::string& busId) const {
  const auto found = std::ranges::find(devices, busId, &Device::busId);
  if (busId.empty() || found == devices.end())
    return std::nullopt;
  const Functions::Handle device = found->handle;
  GpuHealth health;
  health.powerLimit = watts(call->powerLimit, device);
  health.defaultPowerLimit = watts(call->defaultPowerLimit, device);
  if (Number value = 0;
      Functions::succeeds(call->temperature, device, sensorOfGpu, &value))
    health.temperature = value;
  if (Number value = 0;
      Functions::succeeds(call->clock, device, clockOfSms, &value))
    health.clock = value;
  if (Number value = 0;
      Functions::succeeds(call->mostClock, device, clockOfSms, &value))
    health.mostClock = value;
  if (LongNumber bits = 0;
      Functions::succeeds(call->clockReasons, device, &bits))
    health.clockReasons = bits;
  health.eccCorrected = eccErrors(*call, device, corrected);
  health.eccUncorrected = eccErrors(*call, device, uncorrected);
  if (Number rows[2] = {}, isPending = 0, hasFailed = 0;
      Functions::succeeds(call->remappedRows, device, &rows[0], &rows[1],
                          &isPending, &hasFailed)) {
    health.isRemapPending = isPending != 0;
    health.hasRemapFailed = hasFailed != 0;
  }
  health.pcieReplays = numberOf<uint64_t>(call->pcieReplays, device);
  health.pcieWidth = numberOf<int>(call->pcieWidth, device);
  health.mostPcieWidth = numberOf<int>(call->mostPcieWidth, device);
  health.linkReplays = linkErrors(*found, fieldOfReplays, counterOfReplays);
  health.linkRecoveries =
      linkErrors(*found, fieldOfRecoveries, counterOfRecoveries);
  health.linkCrcErrors =
      linkErrors(*found, fieldOfCrcErrors, counterOfCrcErrors);
  return health;
}

} // namespace reciperun::nvml
