// A library with NVML's functions for four GPUs of a host with NVSwitches, as
// test/runtime/topology/Inputs/make_machine.py writes it. The last GPU has two
// NVLinks that are down, is hot, has a lowered power limit, an uncorrected
// error of its memory, and NVLink replays that grow with each question. The
// declarations follow the reference of NVML's API.

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {

using Result = int; // nvmlReturn_t
using Handle = void*;
using Number = unsigned int;
using LongNumber = unsigned long long;

constexpr Result success = 0, invalidArgument = 2, notSupported = 3;
constexpr Number gpus = 4, links = 18;

/// nvmlPciInfo_t.
struct PciInfo {
  char shortBusId[16];
  Number domain, bus, device, ids, subsystemIds;
  char busId[32];
};
/// nvmlFieldValue_t.
struct FieldValue {
  Number field, scope;
  long long timestamp, latency;
  Number type;
  Result result;
  union {
    double real;
    Number number;
    LongNumber longNumber;
  } value;
};

constexpr Number buses[gpus] = {0x19, 0x29, 0x99, 0xa7};
LongNumber replays = 0;

char handles[gpus];
Number indexOf(Handle handle) {
  return Number(static_cast<char*>(handle) - handles);
}
bool isBad(Handle handle) {
  return indexOf(handle) == gpus - 1;
}

void setBusId(PciInfo& pci, Number bus) {
  std::memset(&pci, 0, sizeof pci);
  pci.bus = bus;
  std::snprintf(pci.busId, sizeof pci.busId, "00000000:%02X:00.0", bus);
}

Result copyText(const char* text, char* out, Number length) {
  if (std::strlen(text) >= length)
    return invalidArgument;
  std::strcpy(out, text);
  return success;
}

} // namespace

extern "C" {

Result nvmlInit_v2() {
  return success;
}
Result nvmlShutdown() {
  return success;
}
Result nvmlSystemGetDriverVersion(char* out, Number length) {
  return copyText("580.95.05", out, length);
}
Result nvmlDeviceGetCount_v2(Number* count) {
  *count = gpus;
  return success;
}
Result nvmlDeviceGetHandleByIndex_v2(Number index, Handle* handle) {
  *handle = handles + index;
  return index < gpus ? success : invalidArgument;
}
Result nvmlDeviceGetUUID(Handle handle, char* out, Number length) {
  const char text[] = {'G', 'P', 'U', '-', char('0' + indexOf(handle)), 0};
  return copyText(text, out, length);
}
Result nvmlDeviceGetName(Handle, char* out, Number length) {
  return copyText("NVIDIA H200", out, length);
}
Result nvmlDeviceGetPciInfo_v3(Handle handle, PciInfo* pci) {
  setBusId(*pci, buses[indexOf(handle)]);
  pci->ids = 0x233510de;
  pci->subsystemIds = 0x000110de;
  return success;
}
Result nvmlDeviceGetCudaComputeCapability(Handle, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return success;
}
Result nvmlDeviceGetNvLinkCapability(Handle, Number link, Number,
                                     Number* value) {
  *value = 1;
  return link < links ? success : invalidArgument;
}
Result nvmlDeviceGetNvLinkRemotePciInfo_v2(Handle, Number link, PciInfo* pci) {
  setBusId(*pci, link < 10 ? 5 + link / 5 : 7 + (link - 10) / 4);
  return success;
}
Result nvmlDeviceGetFieldValues(Handle handle, int count, FieldValue* values) {
  for (int i = 0; i < count; ++i) {
    FieldValue& value = values[i];
    value.type = 3; // nvmlValueType_t: unsigned long long
    value.result = success;
    value.value.longNumber = 0;
    if (value.field == 165) // the state of an NVLink
      value.value.longNumber = !(isBad(handle) && value.scope >= 16);
    else if (value.field == 161) // replays
      value.value.longNumber = isBad(handle) ? ++replays : 7;
    else if (value.field != 162 && value.field != 163)
      value.result = notSupported;
  }
  return success;
}
Result nvmlDeviceGetUtilizationRates(Handle, Number*) {
  return notSupported;
}
Result nvmlDeviceGetMemoryInfo(Handle, LongNumber*) {
  return notSupported;
}
Result nvmlDeviceGetPowerUsage(Handle, Number*) {
  return notSupported;
}
Result nvmlDeviceGetEnforcedPowerLimit(Handle handle, Number* milliwatts) {
  *milliwatts = isBad(handle) ? 500'000 : 700'000;
  return success;
}
Result nvmlDeviceGetPowerManagementDefaultLimit(Handle, Number* milliwatts) {
  *milliwatts = 700'000;
  return success;
}
Result nvmlDeviceGetTotalEnergyConsumption(Handle, LongNumber*) {
  return notSupported;
}
Result nvmlDeviceGetTemperature(Handle handle, Number, Number* celsius) {
  *celsius = isBad(handle) ? 91 : 55;
  return success;
}
Result nvmlDeviceGetCurrentClocksThrottleReasons(Handle handle,
                                                 LongNumber* reasons) {
  *reasons = isBad(handle) ? 0x24 : 0;
  return success;
}
Result nvmlDeviceGetTotalEccErrors(Handle handle, Number type, Number,
                                   LongNumber* count) {
  *count = isBad(handle) && type == 1 ? 3 : 0;
  return success;
}
}
