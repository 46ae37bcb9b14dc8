// The slots that a host file of mpirun gives.

#ifndef RECIPEC_DRIVER_HOSTFILE_H
#define RECIPEC_DRIVER_HOSTFILE_H

#include <optional>
#include <string>

namespace recipec::driver {

/// The hosts of a host file and their slots, `localhost slots=2`.
struct HostSlots {
  int hosts = 0;
  int slots = 0;
};

/// Reads a host file. Returns nullopt where it cannot be read, or where a line
/// says no slots: mpirun then asks the host for its cores.
std::optional<HostSlots> slotsOf(const std::string& path);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_HOSTFILE_H
