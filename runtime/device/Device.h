// What carries out the ops of a plan: the cores of a CPU rank, or a GPU.
//
// A device's work is a queue: ops, copies and marks take effect in the order in
// which they are given. On a CPU each is over when its call returns. On a GPU a
// call hands it over and returns, and what fails may be told by a later one.

#ifndef RECIPERUN_DEVICE_DEVICE_H
#define RECIPERUN_DEVICE_DEVICE_H

#include "runtime/base/Status.h"
#include "runtime/device/Tensor.h"
#include "runtime/memory/Arena.h"
#include "runtime/plan/Plan.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace reciperun::device {

class CpuContext;

/// One call of an op, as an executor has resolved it. Inputs and outputs are in
/// the order of the description; a view without data stands for an optional
/// buffer that is absent. The buffers outlive the device's work, the rest the
/// call alone.
struct OpCall {
  const plan::Op& op;
  std::span<const Tensor> inputs;
  std::span<const Tensor> outputs;
  Tensor workspace; // absent where the op needs none
  const plan::Mesh& mesh;
  int rank = 0;
};

/// A run of a parameter's first values: element i of `values`, which is flat,
/// is element `first + i` of the rank's shard (kernels/Initialize.h).
struct FirstValues {
  const plan::Parameter& parameter;
  int64_t seed = 0;
  const plan::Mesh& mesh;
  int rank = 0;
  int64_t first = 0;
  Tensor values;
};

/// Work that a device has recorded, to be given to it as one as often as
/// wanted. The device, and all that the work uses, outlive it.
class Recording {
public:
  virtual ~Recording() = default;
  virtual Status launch() = 0;
};

/// What a device did in a profile: a kernel, a copy.
struct Activity {
  std::string name;
  std::string range; // the innermost one that it was given in; or empty
  int lane = 0;      // those of a lane follow one another
  double begin = 0;  // seconds since beginProfile
  double end = 0;
};

/// What one of `count` ranks does of something that they do together.
struct Share {
  int number = 0, count = 1;

  bool takes(size_t hash) const {
    return hash % size_t(count) == size_t(number);
  }
};

class Device {
public:
  virtual ~Device() = default;

  /// For people: `16 threads`, `NVIDIA H200`.
  virtual std::string name() const = 0;
  /// What tells it from others of the host, of one length for all devices of a
  /// kind; empty where ranks may share it.
  virtual std::string identity() const { return {}; }

  // ---- ops

  /// Whether it can run ops of that kind.
  virtual bool hasKernel(plan::OpKind kind) const = 0;
  /// Gets ready for ops that it has kernels for, before the first step: chooses
  /// among algorithms, of which other ranks may leave it a share, compiles.
  /// True where what their buffers hold is lost.
  virtual Expected<bool> prepare(std::span<const OpCall>, Share) {
    return false;
  }
  /// What a user should know of it, such as a library that is not there.
  virtual std::vector<std::string> notes() const { return {}; }
  /// Runs an op that it has a kernel for.
  virtual Status run(const OpCall& call) = 0;
  /// Draws first values, where it can: false where the host has to.
  virtual Expected<bool> draw(const FirstValues&) { return false; }
  /// Whether all that was given to it is done, or else the first failure of it
  /// that is not known yet. Does not wait.
  virtual Expected<bool> isIdle() = 0;

  // ---- memory

  /// An arena of `bytes` zeroed bytes, and `hostBytes` on the host where copies
  /// to and from it run beside ops. The device outlives it.
  virtual Expected<memory::Arena> allocate(int64_t bytes,
                                           int64_t hostBytes) = 0;
  /// Whether code of the host's can read and write an arena in place.
  virtual bool isHost() const = 0;
  /// Copies into an arena. When the call returns, `from` may change.
  virtual Status upload(void* to, std::span<const std::byte> from) = 0;
  /// Copies out of an arena. When the call returns, the bytes are there.
  virtual Status download(std::span<std::byte> to, const void* from) = 0;
  /// Zeroes bytes of an arena.
  virtual Status clear(void* data, int64_t bytes) = 0;
  /// How much of the device's own memory is taken now; 0 where it has none but
  /// the host's.
  virtual int64_t takenBytes() const = 0;

  // ---- recordings

  /// Whether it can record work: ops, copies within an arena, marks.
  virtual bool records() const { return false; }
  /// From now on takes work down instead of doing it.
  virtual Status beginRecording() {
    return Status::error("the device records nothing");
  }
  /// Ends that, also where it fails, since something could not be recorded.
  virtual Expected<std::unique_ptr<Recording>> endRecording() {
    return Status::error("the device records nothing");
  }

  // ---- time

  /// Notes when all that was given before is done; the mark's number, from 0.
  /// One that is recorded has a number of its own for good, and the time of the
  /// recording's last launch.
  virtual int mark() = 0;
  /// The seconds between two marks of a device that is idle, of which both are
  /// recorded or none is.
  virtual double seconds(int from, int to) const = 0;
  /// Forgets all marks but recorded ones; numbers begin anew.
  virtual void forgetMarks() = 0;

  // ---- profiles

  /// Names what is given to it until the endRange that belongs to it, for
  /// profilers. Ranges lie in one another.
  virtual void beginRange(const std::string&) {}
  virtual void endRange() {}
  /// Waits until the device is idle, tells profilers that follow the process to
  /// look from here on, and begins to note activities where it can.
  virtual Status beginProfile() { return Status::ok(); }
  /// Ends that, of a device that is idle; what was noted, in no certain order.
  virtual Expected<std::vector<Activity>> endProfile() {
    return std::vector<Activity>();
  }
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_DEVICE_H
