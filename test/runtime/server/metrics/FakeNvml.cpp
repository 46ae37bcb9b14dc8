// A library with NVML's functions for two GPUs, the second of which knows only
// its memory. The declarations follow the reference of NVML's API.

extern "C" {

typedef int nvmlReturn_t;
typedef struct nvmlDevice_st* nvmlDevice_t;
typedef struct {
  unsigned int gpu, memory;
} nvmlUtilization_t;
typedef struct {
  unsigned long long total, free, used;
} nvmlMemory_t;

constexpr nvmlReturn_t success = 0, invalidArgument = 2, notSupported = 3;

static bool isOpen = false;
static bool isAskedAgain = false; // for the energy

static nvmlDevice_t deviceOf(unsigned int index) {
  return reinterpret_cast<nvmlDevice_t>(static_cast<char*>(nullptr) + index +
                                        1);
}

nvmlReturn_t nvmlInit_v2() {
  isOpen = true;
  isAskedAgain = false;
  return success;
}
nvmlReturn_t nvmlShutdown() {
  isOpen = false;
  return success;
}
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = isOpen ? 2 : 0;
  return success;
}
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index,
                                           nvmlDevice_t* device) {
  *device = deviceOf(index);
  return index < 2 ? success : invalidArgument;
}
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid,
                               unsigned int length) {
  const char name[] = "GPU-0";
  if (length < sizeof name)
    return invalidArgument;
  for (unsigned int i = 0; i < sizeof name; ++i)
    uuid[i] = name[i];
  if (device == deviceOf(1))
    uuid[4] = '1';
  return success;
}
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device,
                                           nvmlUtilization_t* rates) {
  *rates = {75, 20};
  return device == deviceOf(0) ? success : notSupported;
}
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t, nvmlMemory_t* memory) {
  *memory = {80'000'000'000, 50'000'000'000, 30'000'000'000};
  return success;
}
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int* power) {
  *power = 350'500;
  return device == deviceOf(0) ? success : notSupported;
}
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device,
                                             unsigned int* limit) {
  *limit = 700'000;
  return device == deviceOf(0) ? success : notSupported;
}
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device,
                                                 unsigned long long* energy) {
  if (device != deviceOf(0))
    return notSupported;
  *energy = isAskedAgain ? 5'001'500 : 5'000'000;
  isAskedAgain = true;
  return success;
}
}
