// The interface of a device, which runs the ops of a plan: the cores of a CPU
// rank, or a GPU.
//
// A device executes a queue: ops, copies and marks take effect in the order in
// which they are enqueued. A CPU completes each call before it returns. A GPU
// enqueues the work and returns; a later call may report its failure.

#ifndef RECIPERUN_DEVICE_DEVICE_H
#define RECIPERUN_DEVICE_DEVICE_H

#include "runtime/base/Status.h"
#include "runtime/device/Tensor.h"
#include "runtime/memory/Arena.h"
#include "runtime/plan/Mesh.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace reciperun::plan {
struct MemoryTable;
struct Parameter;
} // namespace reciperun::plan

namespace reciperun::device {

class CpuContext;

/// One call of an op with its buffers resolved by the executor. Inputs and
/// outputs follow the order of the op's description; a view without data is an
/// absent optional buffer. The buffers must outlive the device's work; the
/// other fields only need to live until the call returns.
struct OpCall {
  const plan::Op& op;
  std::span<const Tensor> inputs;
  std::span<const Tensor> outputs;
  Tensor workspace; // absent when the op needs none
  const plan::Mesh& mesh;
  int rank = 0;
};

/// A range of a parameter's initial values: element i of the flat `values` is
/// element `first + i` of the rank's shard (kernels/Initialize.h).
struct FirstValues {
  const plan::Parameter& parameter;
  int64_t seed = 0;
  const plan::Mesh& mesh;
  int rank = 0;
  int64_t first = 0;
  Tensor values;
};

/// A copy of `rows` rows of `bytes` bytes each.
struct StridedCopy {
  void* to = nullptr;
  const void* from = nullptr;
  int64_t bytes = 0, rows = 1;
  int64_t toStride = 0, fromStride = 0; // bytes from a row to the next
};

/// A sequence of work that a device has recorded and can launch repeatedly. The
/// device and all buffers that the work uses must outlive it.
class Recording {
public:
  virtual ~Recording() = default;
  virtual Status launch() = 0;
};

/// One kernel or copy in a device's profile.
struct Activity {
  std::string name;
  std::string range; // the innermost enclosing range, or empty
  int lane = 0;      // activities of one lane do not overlap
  double begin = 0;  // seconds since beginProfile
  double end = 0;
};

/// One rank's share of work that `count` ranks divide among themselves.
struct Share {
  int number = 0, count = 1;

  bool takes(size_t hash) const {
    return hash % size_t(count) == size_t(number);
  }
};

class Device {
public:
  virtual ~Device() = default;

  /// A display name: `16 threads`, `NVIDIA H200`.
  virtual std::string name() const = 0;
  /// An identifier that is unique among the devices of a host and has the same
  /// length for all devices of a kind. Empty when ranks may share the device.
  virtual std::string identity() const { return {}; }
  /// The PCI address, `0000:1b:00`; empty when the device has none.
  virtual std::string address() const { return {}; }

  // ---- ops

  /// Whether the device has a kernel for ops of `kind`.
  virtual bool hasKernel(plan::OpKind kind) const = 0;
  /// Prepares ops that the device has kernels for, before the first step:
  /// compiles kernels and chooses algorithms. Other ranks choose the algorithms
  /// outside this rank's share. Returns true when the contents of the ops'
  /// buffers were overwritten.
  virtual Expected<bool> prepare(std::span<const OpCall>, Share) {
    return false;
  }
  /// Warnings for the user, such as a missing library.
  virtual std::vector<std::string> notes() const { return {}; }
  /// Runs an op that the device has a kernel for.
  virtual Status run(const OpCall& call) = 0;
  /// The number of ops that the device can run at the same time.
  virtual int lanes() const { return 1; }
  /// Runs up to `lanes()` independent ops: none writes memory that another one
  /// reads or writes.
  virtual Status runConcurrently(std::span<const OpCall> calls) {
    for (const OpCall& call : calls)
      RECIPERUN_TRY(run(call));
    return Status::ok();
  }
  /// The number of consecutive ops, from the first one on, that the device runs
  /// as one kernel; 0 if there are none. `calls` are all that are left of a
  /// function: none of them reads an output that the kernel does not write.
  virtual size_t countFused(std::span<const OpCall>) const { return 0; }
  /// Runs ops that countFused() has counted.
  virtual Status runFused(std::span<const OpCall> calls) {
    for (const OpCall& call : calls)
      RECIPERUN_TRY(run(call));
    return Status::ok();
  }
  /// Draws initial values. Returns false when the device cannot draw them; the
  /// host does it then.
  virtual Expected<bool> draw(const FirstValues&) { return false; }
  /// Returns true when all enqueued work is done, false when some is pending,
  /// and the first failure that was not reported yet. Does not wait.
  virtual Expected<bool> isIdle() = 0;

  // ---- memory

  /// Allocates an arena of `bytes` zeroed bytes, and `hostBytes` of host memory
  /// on devices that copy to and from the host concurrently with ops. The
  /// device must outlive the arena.
  virtual Expected<memory::Arena> allocate(int64_t bytes,
                                           int64_t hostBytes) = 0;
  /// Whether host code can read and write an arena in place.
  virtual bool isHost() const = 0;
  /// Copies into an arena. The caller may change `from` once the call returns.
  /// This and `download` may be called by any thread, one at a time.
  virtual Status upload(void* to, std::span<const std::byte> from) = 0;
  /// Copies out of an arena. The bytes are complete when the call returns.
  virtual Status download(std::span<std::byte> to, const void* from) = 0;
  /// Enqueues copies between an arena and its host memory, in order, after the
  /// work enqueued before and before that enqueued later.
  virtual Status copy(std::span<const StridedCopy> copies) = 0;
  /// Enqueues copies from an arena to its host memory, in order, after the work
  /// enqueued before. Work enqueued later may run at the same time, until
  /// finishSaves() is called.
  virtual Status startSaves(std::span<const StridedCopy> copies) {
    return copy(copies);
  }
  /// Makes work enqueued later wait for the copies of startSaves().
  virtual Status finishSaves() { return Status::ok(); }
  /// Zeroes bytes of an arena.
  virtual Status clear(void* data, int64_t bytes) = 0;
  /// The bytes in use of the device's own memory; 0 for a device that only has
  /// host memory.
  virtual int64_t takenBytes() const = 0;

  // ---- recordings

  /// Whether it can record work: ops, copies within an arena, marks.
  virtual bool records() const { return false; }
  /// Records work from now on instead of executing it.
  virtual Status beginRecording() {
    return Status::error("the device records nothing");
  }
  /// Ends the recording. The recording also ends when the call fails because
  /// something could not be recorded.
  virtual Expected<std::unique_ptr<Recording>> endRecording() {
    return Status::error("the device records nothing");
  }

  // ---- time

  /// Records the time at which all work enqueued before is done, and returns
  /// the mark's index, counted from 0. The index of a mark in a recording stays
  /// valid; its time is that of the recording's last launch.
  virtual int mark() = 0;
  /// The seconds between two marks. The device must be idle, and either both
  /// marks or neither must be in a recording.
  virtual double seconds(int from, int to) const = 0;
  /// Drops all marks that are not in a recording, and restarts their indices.
  virtual void forgetMarks() = 0;

  // ---- profiles

  /// Names the work enqueued until the matching endRange, for profilers. Ranges
  /// nest.
  virtual void beginRange(const std::string&) {}
  virtual void endRange() {}
  /// Waits until the device is idle, tells attached profilers to start here,
  /// and begins to collect activities if the device can.
  virtual Status beginProfile() { return Status::ok(); }
  /// Ends the profile of an idle device and returns the collected activities in
  /// unspecified order.
  virtual Expected<std::vector<Activity>> endProfile() {
    return std::vector<Activity>();
  }
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_DEVICE_H
