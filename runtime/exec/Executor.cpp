// Resolves the ops of a plan and runs them.

#include "runtime/exec/Executor.h"

#include "runtime/device/HostCopy.h"
#include "runtime/exec/Independence.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/ops/CollectiveOps.h"
#include "runtime/ops/OpTable.h"
#include "runtime/plan/Mesh.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <limits>
#include <numeric>
#include <thread>
#include <utility>

namespace reciperun::exec {
namespace {

using plan::OpKind;

/// `` `layers.0.q` (linear)``.
std::string textOf(const plan::Op& op) {
  return "`" + op.name + "` (" + ops::opName(op.kind) + ")";
}

/// Names the work that is enqueued on the device during the object's lifetime,
/// for profilers.
class Range {
public:
  Range(device::Device& device, const std::string& name) : device(device) {
    device.beginRange(name);
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  ~Range() { device.endRange(); }

private:
  device::Device& device;
};

/// The first buffer filled by the asynchronous op that `op` completes.
int filledBy(const plan::Op& op) {
  return op.kind == OpKind::CopyEnd ? op.outputs[0] : op.inputs[0];
}

/// Returns an unpaired op: one that starts an asynchronous transfer that the
/// function does not complete, or completes a transfer that the function did
/// not start. Null when all ops are paired.
const plan::Op* halfOf(const plan::Function& function) {
  std::map<int, const plan::Op*> open; // by the first buffer it fills
  for (const plan::Op& op : function.ops) {
    if (ops::traitsOf(op.kind).starts)
      open[op.outputs[0]] = &op;
    if (ops::traitsOf(op.kind).finishes && open.erase(filledBy(op)) == 0)
      return &op;
  }
  return open.empty() ? nullptr : open.begin()->second;
}

} // namespace

Expected<Executor> Executor::make(const plan::Plan& plan, memory::Arena& arena,
                                  comm::Communicator& communicator,
                                  device::Device& device) {
  const plan::Stage& stage = plan::stageOf(plan, communicator.rank());
  assert(arena.bytes() >= stage.memory.arena && "the arena is the plan's");
  Expected<std::string> note = communicator.share(arena.base(), arena.bytes());
  RECIPERUN_TRY(note);
  Executor executor(plan, arena, communicator, device);
  if (!note->empty())
    executor.notes.push_back(*std::move(note));
  executor.findConstants();
  executor.functions.resize(stage.functions.size());
  executor.isRecordable.resize(stage.functions.size(), device.records());
  for (size_t i = 0; i < stage.functions.size(); ++i)
    executor.functions[i].period = executor.period(stage.functions[i]);
  for (const plan::Schedule& schedule : stage.schedules)
    for (const plan::ScheduleStep& step : schedule.steps)
      if (step.kind == plan::ScheduleStep::Kind::run)
        RECIPERUN_TRY(executor.resolve(step.function, step.microBatch));
  return executor;
}

/// Finds the buffers that are constant on a server: its weights, except LoRA
/// adapters, which are loaded and removed while it runs.
void Executor::findConstants() {
  constants.assign(stage.buffers.size(), false);
  if (!plan.serving)
    return;
  for (const plan::Holding& holding : stage.holdings)
    if (holding.value >= 0 &&
        !plan.parameters[size_t(holding.parameter)].adapter)
      constants[size_t(holding.value)] = true;
  for (const plan::Function& function : stage.functions)
    for (const plan::Op& op : function.ops)
      for (int written : op.outputs)
        if (written >= 0)
          constants[size_t(written)] = false;
}

Status Executor::resolve(int function, int microBatch) {
  ByAddresses& known = functions[size_t(function)];
  const int64_t number = microBatch % known.period;
  const auto [resolved, isNew] = known.resolved.try_emplace(number);
  if (!isNew)
    return Status::ok();
  const plan::Function& described = stage.functions[size_t(function)];
  for (const plan::Op& op : described.ops) {
    Expected<Call> call = resolve(op, int(number));
    RECIPERUN_TRY(call);
    resolved->second.calls.push_back(std::move(*call));
  }
  findTogether(resolved->second.calls);
  const plan::Op* const open = halfOf(described);
  if (open && isRecordable[size_t(function)])
    giveUpRecording(function, "op " + textOf(*open) +
                                  " has its other half in another function");
  return Status::ok();
}

/// The number of micro-batches after which the addresses of all buffers of a
/// function repeat.
int64_t Executor::period(const plan::Function& function) const {
  // The number of micro-batches is below this.
  constexpr int64_t most = std::numeric_limits<int>::max();
  int64_t period = 1;
  for (const plan::Op& op : function.ops)
    for (const auto* list : {&op.inputs, &op.outputs})
      for (int number : *list)
        if (number >= 0)
          period =
              std::min(most, std::lcm(period, plan::copies(stage, number)));
  return period;
}

Expected<Executor::Call> Executor::resolve(const plan::Op& op,
                                           int microBatch) const {
  RECIPERUN_TRY(checkDevice(op));
  Call call{&op,
            ops::traitsOf(op.kind).isCollective,
            {},
            {},
            tensor(op.workspace, microBatch)};
  for (int number : op.inputs)
    call.inputs.push_back(tensor(number, microBatch));
  for (int number : op.outputs)
    call.outputs.push_back(tensor(number, microBatch));
  return call;
}

/// Fails when the device has no kernel for the op. Collectives need none.
Status Executor::checkDevice(const plan::Op& op) const {
  const std::string name = "op " + textOf(op);
  if (ops::traitsOf(op.kind).isCollective || runner.hasKernel(op.kind))
    return Status::ok();
  return Status::error(name + " has no kernel on `" + plan.device +
                       "` yet; compile the recipe with `--set "
                       "cluster.hardware=cpu`");
}

Tensor Executor::tensor(int number, int microBatch) const {
  if (number < 0)
    return Tensor();
  const plan::Buffer& buffer = stage.buffers[size_t(number)];
  return {arena.address(buffer, plan::copyOffset(stage, buffer, microBatch),
                        plan.mesh, communicator.rank()),
          buffer.dtype, buffer.shape, constants[size_t(number)]};
}

Status Executor::prepare(device::Share share) {
  std::vector<device::OpCall> all;
  for (const ByAddresses& function : functions)
    for (const auto& [number, resolved] : function.resolved)
      for (const Call& call : resolved.calls)
        if (!call.isCollective)
          all.push_back(described(call));
  Expected<bool> isSpoiled = runner.prepare(all, share);
  RECIPERUN_TRY(isSpoiled);
  return *isSpoiled ? runner.clear(arena.base(), arena.bytes()) : Status::ok();
}

/// Fills the inputs of a server's steps with padding.
Status Executor::padSteps() {
  for (const plan::StageStep& step : stage.steps) {
    const Tensor positions = tensor(step.inputs.positions);
    device::HostCopy copy(runner, positions);
    std::fill_n(copy.as<int32_t>(), positions.elements(), -1);
    RECIPERUN_TRY(copy.store());
  }
  return Status::ok();
}

Status Executor::rehearse() {
  if ((stage.transfers.empty() && !plan.serving) || !runner.records())
    return Status::ok();
  RECIPERUN_TRY(padSteps());
  for (size_t i = 0; i < functions.size(); ++i) {
    if (halfOf(stage.functions[i]))
      continue;
    std::map<int64_t, Resolved>& known = functions[i].resolved;
    if (!known.empty())
      RECIPERUN_TRY(runOps(int(i), known.begin()->second));
    for (auto& [number, resolved] : known) {
      resolved.hasRun = true;
      if (isRecordable[i])
        RECIPERUN_TRY(record(int(i), resolved));
    }
  }
  RECIPERUN_TRY(wait());
  return runner.clear(arena.base(), arena.bytes());
}

const plan::Schedule* Executor::findSchedule(std::string_view name) const {
  for (const plan::Schedule& schedule : stage.schedules)
    if (schedule.name == name)
      return &schedule;
  return nullptr;
}

Status Executor::run(const plan::Schedule& schedule, const Load& load) {
  for (const plan::ScheduleStep& step : schedule.steps) {
    if (observer)
      observer->beginsStep(step);
    if (step.kind == plan::ScheduleStep::Kind::load)
      RECIPERUN_TRY(load(step.microBatch));
    else if (step.kind == plan::ScheduleStep::Kind::run)
      RECIPERUN_TRY(run(step.function, step.microBatch));
    else
      RECIPERUN_TRY(transfer(step));
    if (observer)
      observer->endsStep(step);
  }
  return Status::ok();
}

Status Executor::transfer(const plan::ScheduleStep& step) {
  if (step.kind == plan::ScheduleStep::Kind::wait)
    return finish(step.transfer, step.microBatch);
  const plan::Transfer& described = stage.transfers[size_t(step.transfer)];
  Tensor buffer = tensor(described.buffer, step.microBatch);
  std::span<std::byte> bytes(buffer.as<std::byte>(), size_t(buffer.bytes()));
  int peer = plan::rankInStage(plan.mesh, communicator.rank(), described.peer);
  RECIPERUN_TRY(finish(step.transfer, step.microBatch));
  communicator.startsOp({});
  Expected<int> message =
      described.kind == plan::Transfer::Kind::send
          ? communicator.beginSend(peer, described.link, bytes)
          : communicator.beginReceive(peer, described.link, bytes);
  if (!message)
    return message.status();
  underway[{step.transfer, copyOf(step.transfer, step.microBatch)}] = *message;
  return Status::ok();
}

int64_t Executor::copyOf(int transfer, int microBatch) const {
  const int buffer = stage.transfers[size_t(transfer)].buffer;
  return plan::copyOffset(stage, stage.buffers[size_t(buffer)], microBatch);
}

/// Completes the transfer of the micro-batch's copy of the buffer if it is in
/// flight.
Status Executor::finish(int transfer, int microBatch) {
  auto found = underway.find({transfer, copyOf(transfer, microBatch)});
  if (found == underway.end())
    return Status::ok();
  int message = found->second;
  underway.erase(found);
  return communicator.finish(message);
}

Status Executor::run(int function, int microBatch) {
  ByAddresses& known = functions[size_t(function)];
  const auto found = known.resolved.find(microBatch % known.period);
  assert(found != known.resolved.end() && "a run that is in no schedule");
  Resolved& resolved = found->second;
  const Range range(runner, stage.functions[size_t(function)].name);
  if (isRecorded(function, resolved)) {
    RECIPERUN_TRY(record(function, resolved));
    if (resolved.recording)
      return launch(function, resolved);
  }
  resolved.hasRun = true;
  return runOps(function, resolved);
}

void Executor::findTogether(std::vector<Call>& calls) const {
  std::vector<device::OpCall> all;
  for (const Call& call : calls)
    all.push_back(described(call));
  for (size_t i = 0; i < calls.size(); i += calls[i].together) {
    const auto rest = std::span(all).subspan(i);
    const size_t fused = runner.countFused(rest);
    calls[i].isFused = fused > 0;
    calls[i].together =
        fused ? fused : countConcurrent(rest, size_t(runner.lanes()));
  }
}

/// Runs ops one after another when there is an observer.
Status Executor::runOps(int function, const Resolved& resolved) {
  std::span<const Call> rest = resolved.calls;
  while (!rest.empty()) {
    const Call& call = rest.front();
    const size_t count = observer ? 1 : call.together;
    if (observer)
      observer->beginsOp(*call.op, call.inputs, call.outputs);
    Status status = give(rest.first(count));
    rest = rest.subspan(count);
    if (!status.isOk())
      return status.withContext("op " + textOf(*call.op) + " of `" +
                                stage.functions[size_t(function)].name +
                                "` on rank " +
                                std::to_string(communicator.rank()));
    if (observer)
      observer->endsOp(*call.op, call.outputs);
  }
  return Status::ok();
}

// ---- recordings

/// Whether the function is launched as a recording. The first run is not,
/// because libraries load kernels and connect ranks then. A rehearsal counts as
/// a run.
bool Executor::isRecorded(int function, const Resolved& resolved) const {
  const bool isFollowed = observer && observer->followsOps();
  return isRecordable[size_t(function)] && resolved.hasRun && !isFollowed;
}

/// Records the function unless it is recorded already. When an op cannot be
/// recorded, adds a note and leaves the function unrecorded.
Status Executor::record(int function, Resolved& resolved) {
  if (resolved.recording)
    return Status::ok();
  const std::map<int, int> before = started;
  RECIPERUN_TRY(runner.beginRecording());
  Status ran = communicator.beginsRecording();
  if (ran.isOk())
    ran = runOps(function, resolved);
  resolved.collectives = communicator.endsRecording();
  auto recording = runner.endRecording();
  if (ran.isOk() && recording) {
    resolved.recording = *std::move(recording);
    return Status::ok();
  }
  started = before;
  giveUpRecording(function, ran.isOk() ? recording.message() : ran.message());
  return Status::ok();
}

Status Executor::launch(int function, Resolved& resolved) {
  Status status = resolved.recording->launch();
  if (status.isOk())
    status = communicator.launched(resolved.collectives);
  return status.withContext("`" + stage.functions[size_t(function)].name +
                            "` on rank " + std::to_string(communicator.rank()));
}

void Executor::giveUpRecording(int function, const std::string& why) {
  isRecordable[size_t(function)] = false;
  notes.push_back("`" + stage.functions[size_t(function)].name +
                  "` is not launched as one graph, but op by op: " + why);
}

device::OpCall Executor::described(const Call& call) const {
  return {*call.op,       call.inputs, call.outputs,
          call.workspace, plan.mesh,   communicator.rank()};
}

Status Executor::give(std::span<const Call> calls) {
  const Call& call = calls.front();
  const Range range(runner, ops::opName(call.op->kind) + (" " + call.op->name));
  if (calls.size() > 1)
    return performTogether(calls);
  if (!call.isCollective)
    return perform(call);
  Status status = communicate(call);
  communicator.startsOp({});
  return status;
}

Status Executor::perform(const Call& call) {
  return runner.run(described(call));
}

Status Executor::performTogether(std::span<const Call> calls) {
  std::vector<device::OpCall> all;
  for (const Call& call : calls)
    all.push_back(described(call));
  return calls.front().isFused ? runner.runFused(all)
                               : runner.runConcurrently(all);
}

Status Executor::wait() {
  constexpr std::chrono::microseconds pause(20);
  while (true) {
    Expected<bool> isIdle = runner.isIdle();
    if (!isIdle)
      return isIdle.status().withContext("the device of rank " +
                                         std::to_string(communicator.rank()));
    if (*isIdle)
      return Status::ok();
    RECIPERUN_TRY(communicator.check());
    std::this_thread::sleep_for(pause);
  }
}

/// Stores the id of a started collective under the first buffer that it fills.
Status Executor::start(const plan::Op& op, const Expected<int>& message) {
  RECIPERUN_TRY(message);
  bool isFirst = started.emplace(op.outputs[0], *message).second;
  return isFirst ? Status::ok()
                 : Status::error("its buffer is being filled already");
}

Status Executor::finishStarted(const plan::Op& op) {
  auto found = started.find(op.inputs[0]);
  if (found == started.end())
    return Status::error("nothing has begun to fill its buffer");
  int message = found->second;
  started.erase(found);
  return communicator.finish(message);
}

std::vector<comm::Shift> Executor::shiftsOf(const Call& call) {
  std::vector<comm::Shift> shifts;
  for (size_t i = 0; i < call.inputs.size(); ++i)
    if (call.inputs[i].present())
      shifts.push_back({call.inputs[i], call.outputs[i]});
  return shifts;
}

Status Executor::communicate(const Call& call) {
  const plan::Op& op = *call.op;
  const Tensor &in = call.inputs[0], &out = call.outputs[0];
  const int dim = int(ops::AllGatherAttributes(op.attributes).dim);
  communicator.startsOp(op.name);
  switch (op.kind) {
  case plan::OpKind::AllReduce:
    return communicator.allReduce(
        op.group, in, out,
        ops::AllReduceAttributes(op.attributes).reduce == "max"
            ? comm::Reduction::max
            : comm::Reduction::sum);
  case plan::OpKind::AllGather:
    return communicator.allGather(op.group, in, out, dim);
  case plan::OpKind::ReduceScatter:
    return communicator.reduceScatter(op.group, in, out, dim);
  case plan::OpKind::AllGatherStart:
    return start(op, communicator.beginAllGather(op.group, in, out));
  case plan::OpKind::ReduceScatterStart:
    return start(op, communicator.beginExchange(op.group, in, out));
  case plan::OpKind::RingShiftStart:
    return start(op, communicator.beginShift(op.group, shiftsOf(call)));
  case plan::OpKind::AllToAllStart:
    return start(op, communicator.beginAllToAll(op.group, in, out));
  case plan::OpKind::AllGatherDone:
  case plan::OpKind::AllToAllDone:
  case plan::OpKind::RingShiftDone:
    return finishStarted(op);
  case plan::OpKind::ReduceScatterDone:
    RECIPERUN_TRY(finishStarted(op));
    return communicator.addTerms(op.group, call.inputs[1], in, out);
  case plan::OpKind::AllToAll: {
    const ops::AllToAllAttributes attributes(op.attributes);
    const comm::ShardExchange exchange{int(attributes.split),
                                       int(attributes.concat)};
    return op.inputs[1] < 0 ? communicator.allToAll(op.group, in, out, exchange)
                            : communicator.exchangeRows(
                                  op.group, in, call.inputs[1], out, exchange);
  }
  default:
    assert(false && "a collective that the executor does not know");
    return Status::error("unknown collective");
  }
}

} // namespace reciperun::exec
