// Reports what the collectives of a rank wait for to the two watches: the
// host's Watch, and the device's NcclWatch.

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

  /// Starts the device's watch if the host has one.
  Status start();

  /// Sets the plan's op of the following calls; may be empty.
  void startsOp(std::string_view name) { op = name; }

  /// Tells the watch that the host waits for the group until the result is
  /// destroyed. The first collective of a kind connects the ranks, and the host
  /// blocks until they are connected.
  Watch::Wait waitFor(const char* what, const NcclGroup& commGroup) const;

  /// Tells the watch about the collective enqueued last.
  Status note(const char* what, const NcclGroup& commGroup);

  /// Tells the watch about the collective enqueued next. That collective must
  /// set the returned word when it is complete.
  device::HostWord announce(const char* what, const NcclGroup& commGroup);

  /// These implement the functions of Communicator, for a device's stream.
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
