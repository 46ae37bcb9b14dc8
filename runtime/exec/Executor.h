// Runs the functions and schedules of a plan.
//
// 1. make: resolves each op of each function to its kernel and to views of its
//    buffers, once for every combination of their addresses that occurs.
// 2. run: loops over the resolved ops. The plan determines which ops run, on
//    which data and in which order; the executor has no policy. A device with
//    lanes runs neighbouring matmuls that are independent at the same time.
// 3. On a device that records, the first run of a function launches it op by
//    op, so that libraries initialize. The second run records the ops. From
//    then on the recording is launched. Loads and messages between stages are
//    not recorded. A pipeline stage runs and records its functions at the start
//    (rehearse).
// 4. wait: returns when the device is idle.

#ifndef RECIPERUN_EXEC_EXECUTOR_H
#define RECIPERUN_EXEC_EXECUTOR_H

#include "runtime/base/Status.h"
#include "runtime/comm/Communicator.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Observer.h"
#include "runtime/memory/Arena.h"
#include "runtime/plan/Plan.h"

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reciperun::exec {

using device::Tensor;

class Executor {
public:
  /// Fills the input buffers of a micro-batch.
  using Load = std::function<Status(int microBatch)>;

  /// All arguments outlive the executor. The plan has been validated; the arena
  /// belongs to the device and has the plan's size. Fails when the device
  /// cannot run an op. Collective.
  static Expected<Executor> make(const plan::Plan& plan, memory::Arena& arena,
                                 comm::Communicator& communicator,
                                 device::Device& device);

  /// Prepares the device for all ops. Call it before the first step, while the
  /// arena holds no data: preparation may zero it. With a `share` the device
  /// measures only its share of the algorithms.
  Status prepare(device::Share share = {});

  /// Runs and records each function of a pipeline stage or of a server, on a
  /// device that records. Call it on all ranks while the arena holds no data:
  /// the arena is zeroed afterwards. A recording takes memory, and a server
  /// must not allocate memory later, while it is under load. Loading a kernel
  /// for its first launch, or instantiating a graph, may make the driver wait
  /// for all work on the device. In the middle of a schedule this could
  /// deadlock: the work may include a message from another stage, which sends
  /// it only after work that this stage has yet to launch.
  Status rehearse();

  /// Runs all steps of a schedule and calls `load` for its load steps. A
  /// failure names the function, op and rank.
  Status run(const plan::Schedule& schedule, const Load& load);

  /// Runs one function on the buffers of a micro-batch.
  Status run(int function, int microBatch = 0);

  /// Waits until the device is idle. Fails when work on the device has failed
  /// or another rank has exited.
  Status wait();

  /// This rank's buffer for a micro-batch, in device memory; an absent tensor
  /// for buffer -1. HostCopy.h reads and writes memory that the host cannot
  /// address.
  Tensor tensor(int buffer, int microBatch = 0) const;

  device::Device& device() const { return runner; }

  /// Returns and clears the notes for the user: which functions cannot be
  /// recorded, and why.
  std::vector<std::string> takeNotes() { return std::exchange(notes, {}); }

  /// The schedule of that name; null when the plan has none.
  const plan::Schedule* findSchedule(std::string_view name) const;

  /// Reports everything that runs from now on to `follower`, which must outlive
  /// its registration; null for no observer.
  void setObserver(Observer* follower) { observer = follower; }

private:
  struct Call {
    const plan::Op* op;
    bool isCollective = false;
    std::vector<Tensor> inputs;
    std::vector<Tensor> outputs;
    Tensor workspace;
    size_t together = 1;  // calls from this one on that are given together,
    bool isFused = false; // as one kernel, or concurrently
  };

  /// The calls of a function for one combination of buffer addresses.
  struct Resolved {
    std::vector<Call> calls;
    bool hasRun = false;
    std::unique_ptr<device::Recording> recording; // null until recorded
    int collectives = 0; // the communicator's id of the recording
  };

  /// The resolved calls of a function, keyed by the micro-batch modulo the
  /// function's period. Only micro-batches that occur in a schedule are
  /// resolved.
  struct ByAddresses {
    int64_t period = 1;
    std::map<int64_t, Resolved> resolved;
  };

  Executor(const plan::Plan& plan, memory::Arena& arena,
           comm::Communicator& communicator, device::Device& device)
      : plan(plan), stage(plan::stageOf(plan, communicator.rank())),
        arena(arena), communicator(communicator), runner(device) {}
  void findConstants();
  Status padSteps();
  Status resolve(int function, int microBatch);
  Expected<Call> resolve(const plan::Op& op, int microBatch) const;
  int64_t period(const plan::Function& function) const;
  Status runOps(int function, const Resolved& resolved);
  bool isRecorded(int function, const Resolved& resolved) const;
  Status record(int function, Resolved& resolved);
  Status launch(int function, Resolved& resolved);
  void giveUpRecording(int function, const std::string& why);
  Status transfer(const plan::ScheduleStep& step);
  int64_t copyOf(int transfer, int microBatch) const;
  Status finish(int transfer, int microBatch);
  Status checkDevice(const plan::Op& op) const;
  device::OpCall described(const Call& call) const;
  void findTogether(std::vector<Call>& calls) const;
  Status give(std::span<const Call> calls);
  Status perform(const Call& call);
  Status performTogether(std::span<const Call> calls);
  Status communicate(const Call& call);
  Status start(const plan::Op& op, const Expected<int>& message);
  Status finishStarted(const plan::Op& op);
  static std::vector<comm::Shift> shiftsOf(const Call& call);

  const plan::Plan& plan;
  const plan::Stage& stage; // of this rank
  memory::Arena& arena;
  comm::Communicator& communicator;
  device::Device& runner;
  Observer* observer = nullptr;
  std::vector<bool> constants; // by buffer: see Tensor::isConstant
  std::vector<ByAddresses> functions;
  std::vector<bool> isRecordable; // by function
  std::vector<std::string> notes; // see takeNotes
  /// The communicator's ids of messages in flight, by transfer and by the byte
  /// offset of the micro-batch's copy of the buffer.
  std::map<std::pair<int, int64_t>, int> underway;
  /// The communicator's ids of collectives in flight, by the first buffer that
  /// they fill.
  std::map<int, int> started;
};

} // namespace reciperun::exec

#endif // RECIPERUN_EXEC_EXECUTOR_H
