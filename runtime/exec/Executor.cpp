// Resolution of ops, and the loop over them.

#include "runtime/exec/Executor.h"

#include "runtime/device/KernelTable.h"
#include "runtime/exec/RingAttention.h"
#include "runtime/kernels/Kernels.h"
#include "runtime/plan/Mesh.h"

#include <cassert>
#include <chrono>
#include <numeric>
#include <thread>
#include <utility>

namespace reciperun::exec {

Expected<Executor> Executor::make(const plan::Plan& plan, memory::Arena& arena,
                                  comm::Communicator& communicator,
                                  device::Device& device) {
  assert(arena.bytes() >= plan.memory.arena && "the arena is the plan's");
  Executor executor(plan, arena, communicator, device);
  executor.calls.resize(plan.functions.size());
  for (const plan::Schedule& schedule : plan.schedules)
    for (const plan::Step& step : schedule.steps)
      if (step.kind == plan::Step::Kind::run)
        RECIPERUN_TRY(executor.resolve(step.function));
  for (const plan::Bucket& bucket : plan.buckets)
    RECIPERUN_TRY(executor.resolve(bucket.function));
  return executor;
}

Status Executor::resolve(int function) {
  std::vector<std::vector<Call>>& resolved = calls[size_t(function)];
  if (!resolved.empty())
    return Status::ok();
  const plan::Function& described = plan.functions[size_t(function)];
  resolved.resize(size_t(period(described)));
  for (size_t i = 0; i < resolved.size(); ++i)
    for (const plan::Op& op : described.ops) {
      Expected<Call> call = resolve(op, int(i));
      if (!call)
        return call.status();
      resolved[i].push_back(std::move(*call));
    }
  return Status::ok();
}

/// The number of micro-batches after which the slots of all of a function's
/// buffers come round again.
int Executor::period(const plan::Function& function) const {
  int period = 1;
  for (const plan::Op& op : function.ops)
    for (const auto* list : {&op.inputs, &op.outputs})
      for (int number : *list)
        if (number >= 0)
          period = std::lcm(period, plan.buffers[size_t(number)].slots);
  return period;
}

Expected<Executor::Call> Executor::resolve(const plan::Op& op,
                                           int microBatch) const {
  RECIPERUN_TRY(checkDevice(op));
  Call call{&op,
            kernels::isCollective(op.kind),
            {},
            {},
            tensor(op.workspace, microBatch)};
  for (int number : op.inputs)
    call.inputs.push_back(tensor(number, microBatch));
  for (int number : op.outputs)
    call.outputs.push_back(tensor(number, microBatch));
  return call;
}

/// Whether the device can run the op, or take part in it.
Status Executor::checkDevice(const plan::Op& op) const {
  const std::string name =
      "op `" + op.name + "` (" + plan::opName(op.kind) + ")";
  if (kernels::isCollective(op.kind) || runner.hasKernel(op.kind))
    return Status::ok();
  return Status::error(name + " has no kernel on `" + plan.device +
                       "` yet; compile the recipe with `--set "
                       "cluster.hardware=cpu`");
}

Tensor Executor::tensor(int number, int microBatch) const {
  if (number < 0)
    return Tensor();
  const plan::Buffer& buffer = plan.buffers[size_t(number)];
  return {arena.address(buffer, microBatch % buffer.slots, plan.mesh,
                        communicator.rank()),
          buffer.dtype, buffer.shape};
}

Status Executor::prepare() {
  std::vector<device::OpCall> all;
  for (const auto& function : calls)
    for (const std::vector<Call>& resolved : function)
      for (const Call& call : resolved)
        if (!call.isCollective)
          all.push_back(described(call));
  Expected<bool> isSpoiled = runner.prepare(all);
  RECIPERUN_TRY(isSpoiled);
  return *isSpoiled ? runner.clear(arena.base(), arena.bytes()) : Status::ok();
}

const plan::Schedule* Executor::findSchedule(std::string_view name) const {
  for (const plan::Schedule& schedule : plan.schedules)
    if (schedule.name == name)
      return &schedule;
  return nullptr;
}

Status Executor::run(const plan::Schedule& schedule, const Load& load) {
  for (const plan::Step& step : schedule.steps) {
    if (observer)
      observer->beginsStep(step);
    if (step.kind == plan::Step::Kind::load)
      RECIPERUN_TRY(load(step.microBatch));
    else if (step.kind == plan::Step::Kind::run)
      RECIPERUN_TRY(run(step.function, step.microBatch));
    else
      RECIPERUN_TRY(transfer(step));
    if (observer)
      observer->endsStep(step);
  }
  return Status::ok();
}

Status Executor::transfer(const plan::Step& step) {
  if (step.kind == plan::Step::Kind::wait)
    return finish(step.transfer, step.microBatch);
  const plan::Transfer& described = plan.transfers[size_t(step.transfer)];
  Tensor buffer = tensor(described.buffer, step.microBatch);
  std::span<std::byte> bytes(buffer.as<std::byte>(), size_t(buffer.bytes()));
  int peer = plan::rankInStage(plan.mesh, communicator.rank(), described.peer);
  RECIPERUN_TRY(finish(step.transfer, step.microBatch));
  communicator.startsOp({});
  Expected<int> message =
      described.kind == plan::Transfer::Kind::send
          ? communicator.beginSend(peer, described.channel, bytes)
          : communicator.beginReceive(peer, described.channel, bytes);
  if (!message)
    return message.status();
  int slots = plan.buffers[size_t(described.buffer)].slots;
  underway[{step.transfer, step.microBatch % slots}] = *message;
  return Status::ok();
}

/// Ends what is under way in the slot, if anything is.
Status Executor::finish(int transfer, int microBatch) {
  const plan::Transfer& described = plan.transfers[size_t(transfer)];
  int slots = plan.buffers[size_t(described.buffer)].slots;
  auto found = underway.find({transfer, microBatch % slots});
  if (found == underway.end())
    return Status::ok();
  int message = found->second;
  underway.erase(found);
  return communicator.finish(message);
}

Status Executor::run(int function, int microBatch) {
  const std::vector<std::vector<Call>>& all = calls[size_t(function)];
  assert(!all.empty() && "a function that no schedule runs");
  const std::vector<Call>& resolved = all[size_t(microBatch) % all.size()];
  for (const Call& call : resolved) {
    if (observer)
      observer->beginsOp(*call.op, call.inputs, call.outputs);
    Status status = call.isCollective ? communicate(call) : perform(call);
    if (!status)
      return status.withContext(
          "op `" + call.op->name + "` (" + plan::opName(call.op->kind) +
          ") of `" + plan.functions[size_t(function)].name + "` on rank " +
          std::to_string(communicator.rank()));
    if (observer)
      observer->endsOp(*call.op, call.outputs);
  }
  return Status::ok();
}

device::OpCall Executor::described(const Call& call) const {
  return {*call.op,       call.inputs, call.outputs,
          call.workspace, plan.mesh,   communicator.rank()};
}

Status Executor::perform(const Call& call) {
  return runner.run(described(call));
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

/// Notes what began by the buffer that it fills.
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

Status Executor::communicate(const Call& call) {
  const plan::Op& op = *call.op;
  const Tensor &in = call.inputs[0], &out = call.outputs[0];
  int dim = static_cast<int>(op.integer("dim"));
  communicator.startsOp(op.name);
  switch (op.kind) {
  case plan::OpKind::AllReduce:
    return communicator.allReduce(op.group, in, out,
                                  op.string("reduce") == "max"
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
  case plan::OpKind::AllGatherDone:
    return finishStarted(op);
  case plan::OpKind::ReduceScatterDone:
    RECIPERUN_TRY(finishStarted(op));
    return communicator.addTerms(in, out);
  case plan::OpKind::RingAttention:
    return ringAttention(described(call), communicator, runner);
  case plan::OpKind::RingAttentionBackward:
    return ringAttentionBackward(described(call), communicator, runner);
  case plan::OpKind::AllToAll:
    return communicator.allToAll(op.group, in, out,
                                 static_cast<int>(op.integer("split")),
                                 static_cast<int>(op.integer("concat")));
  default:
    assert(false && "a collective that the executor does not know");
    return Status::error("unknown collective");
  }
}

} // namespace reciperun::exec
