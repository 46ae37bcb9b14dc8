// The functions of NVML that are called, by their declarations in the reference
// of its API: nvml.h is not on all machines that build.

#ifndef RECIPERUN_NVML_FUNCTIONS_H
#define RECIPERUN_NVML_FUNCTIONS_H

#include <type_traits>

namespace reciperun::nvml {

struct Functions {
  using Result = int; // nvmlReturn_t; 0 is success
  using Handle = void*;
  using Number = unsigned int;
  using LongNumber = unsigned long long;

  /// nvmlUtilization_t, in percent.
  struct Utilization {
    Number gpu, memory;
  };
  /// nvmlMemory_t, in bytes.
  struct Memory {
    LongNumber total, free, used;
  };
  /// nvmlPciInfo_t.
  struct PciInfo {
    char shortBusId[16];
    Number domain, bus, device, ids, subsystemIds;
    char busId[32]; // `00000000:1B:00.0`
  };
  /// nvmlFieldValue_t.
  struct FieldValue {
    Number field, scope;
    long long timestamp, latency;
    Number type; // one of the types below
    Result result;
    union {
      double real;
      Number number;
      LongNumber longNumber;
    } value;
  };
  static constexpr Number typeReal = 0, typeNumber = 1;

  // The functions without which there is no driver to speak of.
  Result (*init)();
  Result (*shutdown)();
  Result (*count)(Number*);
  Result (*handle)(Number index, Handle*);
  Result (*uuid)(Handle, char*, Number length);
  Result (*utilization)(Handle, Utilization*);
  Result (*memory)(Handle, Memory*);
  Result (*powerUsage)(Handle, Number* milliwatts);
  Result (*powerLimit)(Handle, Number* milliwatts);
  Result (*energy)(Handle, LongNumber* millijoules);

  // Functions that a driver may lack: null then.
  Result (*driverVersion)(char*, Number length);
  Result (*name)(Handle, char*, Number length);
  Result (*pciInfo)(Handle, PciInfo*);
  Result (*computeCapability)(Handle, int* major, int* minor);
  Result (*linkState)(Handle, Number link, Number* isActive);
  Result (*linkCapability)(Handle, Number link, Number capability, Number*);
  Result (*linkTarget)(Handle, Number link, PciInfo*);
  Result (*linkErrors)(Handle, Number link, Number counter, LongNumber*);
  Result (*fields)(Handle, int count, FieldValue*);
  Result (*pcieGeneration)(Handle, Number*);
  Result (*pcieWidth)(Handle, Number*);
  Result (*mostPcieGeneration)(Handle, Number*);
  Result (*mostPcieWidth)(Handle, Number*);
  Result (*pcieReplays)(Handle, Number*);
  Result (*eccErrors)(Handle, Number type, Number counter, LongNumber*);
  Result (*remappedRows)(Handle, Number* corrected, Number* uncorrected,
                         Number* isPending, Number* hasFailed);
  Result (*clockReasons)(Handle, LongNumber*);
  Result (*defaultPowerLimit)(Handle, Number* milliwatts);
  Result (*temperature)(Handle, Number sensor, Number* celsius);
  Result (*clock)(Handle, Number kind, Number* megahertz);
  Result (*mostClock)(Handle, Number kind, Number* megahertz);

  /// Whether the function exists and succeeds.
  template <class... Arguments>
  static bool succeeds(Result (*function)(Arguments...),
                       std::type_identity_t<Arguments>... arguments) {
    return function && function(arguments...) == 0;
  }

  /// Finds the functions in a library that dlopen has opened. False when one
  /// that every driver has is missing.
  bool load(void* library);
};

} // namespace reciperun::nvml

#endif // RECIPERUN_NVML_FUNCTIONS_H
