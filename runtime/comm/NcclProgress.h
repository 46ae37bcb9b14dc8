// What the collectives of a rank wait for, told to those that look whether it
// takes too long: the host's watch, and that of the device (NcclWatch.h).

#ifndef RECIPERUN_COMM_NCCLPROGRESS_H
#define RECIPERUN_COMM_NCCLPROGRESS_H

#include "runtime/comm/NcclGroup.h"
#include "runtime/comm/NcclWatch.h"
#include "runtime/comm/Watch.h"
#include "runtime/device/cuda/HostWords.h"

#include <string>
#include <string_view>

namespace reciperun::comm {

class NcclProgress {
public:
  /// The watch, which may be null, outlives the object.
  explicit NcclProgress(Watch* host) : host(host) {}

  /// The device's watch looks from now on, where the host has one.
  Status start();

  /// Names the op of the plan that what follows is for; empty for none.
  void startsOp(std::string_view name) { op = name; }

  /// The host waits for the group as long as it lives: the first collective of
  /// a kind connects ranks.
  Watch::Wait waitFor(const char* what, const NcclGroup& commGroup) const;

  /// Has the watch know what was enqueued last.
  Status note(const char* what, const NcclGroup& commGroup);

  /// Has the watch know what is enqueued next, which is to set the word that
  /// comes back when it is done.
  device::HostWord announce(const char* what, const NcclGroup& commGroup);

  /// As those of Communicator, of a device's stream.
  Status beginsRecording(cudaStream_t stream);
  int endsRecording() { return waits.endRecording(); }
  Status launched(cudaStream_t stream, int recording);

private:
  std::string purposeOf(const char* what, const NcclGroup& commGroup) const;

  Watch* host;
  NcclWatch waits;
  std::string_view op;
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_NCCLPROGRESS_H
