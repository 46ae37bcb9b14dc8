// Reads the slots in a host file of mpirun.

#ifndef RECIPEC_DRIVER_HOSTFILE_H
#define RECIPEC_DRIVER_HOSTFILE_H

#include <optional>
#include <string>

namespace recipec::driver {

/// The hosts in a host file and the sum of their slots.
struct HostSlots {
  int hosts = 0;
  int slots = 0;
};

/// Reads a host file. Returns nullopt if it cannot be read or if a line gives
/// no slots, because mpirun then takes the host's number of cores.
std::optional<HostSlots> slotsOf(const std::string& path);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_HOSTFILE_H
