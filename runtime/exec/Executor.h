// Runs the functions and schedules of a plan.
//
// 1. make: each op of each function is resolved to its kernel and to views of
//    its buffers, once for every combination of their slots that occurs.
// 2. run: a loop over those. What is run, on which data and in which order is
//    the plan's; there is no policy here.
// 3. A device that records work is given a function op by op once, which gets
//    it ready; the next time it records the ops, and from then on it is given
//    the recording as one. Loads and messages between stages stay outside. For
//    a stage of a pipeline both are done at the start (rehearse).
// 4. wait: until the device has done what it was given.

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

  /// All arguments outlive the executor; the plan has been validated, the arena
  /// is the device's and has the plan's size. Fails where the device cannot run
  /// an op. Collective.
  static Expected<Executor> make(const plan::Plan& plan, memory::Arena& arena,
                                 comm::Communicator& communicator,
                                 device::Device& device);

  /// Has the device get ready for all ops, before the first step and before
  /// the arena holds anything: it is zeroed afterwards. Of what is to be
  /// measured it may leave others their share.
  Status prepare(device::Share share = {});

  /// Has a device that records run and record each function of a pipeline's
  /// stage, before the arena holds anything: it is zeroed afterwards. All ranks
  /// call it. What a driver does for a kernel's first launch, or to open a
  /// graph, may wait for all that the device was given: in the midst of a
  /// schedule for a message, too, which another stage may send behind what this
  /// one launches next.
  Status rehearse();

  /// Runs all steps of a schedule, `load` where the schedule says so. A failure
  /// names function, op and rank.
  Status run(const plan::Schedule& schedule, const Load& load);

  /// Runs one function on the buffers of a micro-batch.
  Status run(int function, int microBatch = 0);

  /// Waits until the device has done all that it was given. Fails where some of
  /// it has, or another rank has gone.
  Status wait();

  /// A buffer of this rank for a micro-batch, in the device's memory; no data
  /// for the number -1. HostCopy.h reads and writes what the host cannot
  /// address.
  Tensor tensor(int buffer, int microBatch = 0) const;

  device::Device& device() const { return runner; }

  /// What a user should know of the work since the last call: which functions
  /// cannot be recorded, and why.
  std::vector<std::string> takeNotes() { return std::exchange(notes, {}); }

  /// The schedule of that name, null where the plan has none.
  const plan::Schedule* findSchedule(std::string_view name) const;

  /// Tells the observer, which outlives its time here, of all that is run from
  /// now on; null for none.
  void setObserver(Observer* follower) { observer = follower; }

private:
  struct Call {
    const plan::Op* op;
    bool isCollective = false;
    std::vector<Tensor> inputs;
    std::vector<Tensor> outputs;
    Tensor workspace;
  };

  /// A function on the buffers of some slots.
  struct Resolved {
    std::vector<Call> calls;
    bool hasRun = false;
    std::unique_ptr<device::Recording> recording; // once it was made
    int collectives = 0; // the communicator's number of it
  };

  /// What a function is resolved to, by the micro-batch modulo the function's
  /// period, as far as there are such runs.
  struct BySlots {
    int64_t period = 1;
    std::map<int64_t, Resolved> resolved;
  };

  Executor(const plan::Plan& plan, memory::Arena& arena,
           comm::Communicator& communicator, device::Device& device)
      : plan(plan), stage(plan::stageOf(plan, communicator.rank())),
        arena(arena), communicator(communicator), runner(device) {}
  Status resolve(int function, int microBatch);
  Expected<Call> resolve(const plan::Op& op, int microBatch) const;
  int64_t period(const plan::Function& function) const;
  Status runOps(int function, const Resolved& resolved);
  bool isRecorded(int function, const Resolved& resolved) const;
  Status record(int function, Resolved& resolved);
  Status launch(int function, Resolved& resolved);
  void giveUpRecording(int function, const std::string& why);
  Status transfer(const plan::ScheduleStep& step);
  Status finish(int transfer, int microBatch);
  Status checkDevice(const plan::Op& op) const;
  device::OpCall described(const Call& call) const;
  Status give(const Call& call);
  Status perform(const Call& call);
  Status communicate(const Call& call);
  Status start(const plan::Op& op, const Expected<int>& message);
  Status finishStarted(const plan::Op& op);

  const plan::Plan& plan;
  const plan::Stage& stage; // of this rank
  memory::Arena& arena;
  comm::Communicator& communicator;
  device::Device& runner;
  Observer* observer = nullptr;
  std::vector<BySlots> functions;
  std::vector<bool> isRecordable; // by function
  std::vector<std::string> notes; // see takeNotes
  /// By transfer and slot, the communicator's number of what is under way.
  std::map<std::pair<int, int>, int> underway;
  /// The same of collectives, by the buffer that is being filled.
  std::map<int, int> started;
};

} // namespace reciperun::exec

#endif // RECIPERUN_EXEC_EXECUTOR_H
