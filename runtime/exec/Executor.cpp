// Resolution of ops, and the loop over them.

#include "runtime/exec/Executor.h"

#include "runtime/kernels/Kernels.h"

#include <cassert>

namespace reciperun::exec {

Expected<Executor> Executor::make(const plan::Plan& plan, memory::Arena& arena,
                                  comm::Communicator& communicator,
                                  device::CpuContext& context) {
  assert(arena.bytes() >= plan.memory.arena && "the arena is the plan's");
  Executor executor(plan, arena, communicator, context);
  for (const plan::Schedule& schedule : plan.schedules)
    for (const plan::Step& step : schedule.steps)
      if (step.kind == plan::Step::Kind::run)
        RECIPERUN_TRY(executor.resolve(step.function, step.slot));
  for (const plan::Bucket& bucket : plan.buckets)
    RECIPERUN_TRY(executor.resolve(bucket.function, 0));
  return executor;
}

Status Executor::resolve(int function, int slot) {
  if (calls.size() <= size_t(slot))
    calls.resize(size_t(slot) + 1, {});
  std::vector<std::vector<Call>>& functions = calls[size_t(slot)];
  functions.resize(plan.functions.size());
  std::vector<Call>& resolved = functions[size_t(function)];
  const std::vector<plan::Op>& ops = plan.functions[size_t(function)].ops;
  if (resolved.size() == ops.size())
    return Status::ok();
  for (const plan::Op& op : ops) {
    Expected<Call> call = resolve(op, slot);
    if (!call)
      return call.status();
    resolved.push_back(std::move(*call));
  }
  return Status::ok();
}

Expected<Executor::Call> Executor::resolve(const plan::Op& op, int slot) const {
  Call call{&op, nullptr, {}, {}, tensor(op.workspace, slot)};
  for (int number : op.inputs)
    call.inputs.push_back(tensor(number, slot));
  for (int number : op.outputs)
    call.outputs.push_back(tensor(number, slot));
  if (kernels::isCollective(op.kind))
    return call;
  call.kernel = kernels::findKernel(op.kind);
  if (!call.kernel)
    return Status::error("op `" + op.name + "` (" + plan::opName(op.kind) +
                         ") has no kernel on this device");
  return call;
}

Tensor Executor::tensor(int number, int slot) const {
  if (number < 0)
    return Tensor();
  const plan::Buffer& buffer = plan.buffers[size_t(number)];
  return {arena.address(buffer, slot, plan.mesh, communicator.rank()),
          buffer.dtype, buffer.shape};
}

const plan::Schedule* Executor::findSchedule(std::string_view name) const {
  for (const plan::Schedule& schedule : plan.schedules)
    if (schedule.name == name)
      return &schedule;
  return nullptr;
}

Status Executor::run(const plan::Schedule& schedule, const Load& load) {
  for (const plan::Step& step : schedule.steps) {
    if (step.kind == plan::Step::Kind::load)
      RECIPERUN_TRY(load(step.microBatch, step.slot));
    else
      RECIPERUN_TRY(run(step.function, step.slot));
  }
  return Status::ok();
}

Status Executor::run(int function, int slot) {
  assert(size_t(slot) < calls.size() && "a slot that no schedule names");
  const std::vector<Call>& resolved = calls[size_t(slot)][size_t(function)];
  for (const Call& call : resolved) {
    Status status = call.kernel ? perform(call) : communicate(call);
    if (!status)
      return status.withContext(
          "op `" + call.op->name + "` (" + plan::opName(call.op->kind) +
          ") of `" + plan.functions[size_t(function)].name + "` on rank " +
          std::to_string(communicator.rank()));
  }
  return Status::ok();
}

Status Executor::perform(const Call& call) {
  return call.kernel({*call.op, call.inputs, call.outputs, call.workspace,
                      plan.mesh, communicator.rank(), context});
}

Status Executor::communicate(const Call& call) {
  const plan::Op& op = *call.op;
  const Tensor &in = call.inputs[0], &out = call.outputs[0];
  int dim = static_cast<int>(op.integer("dim"));
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
