// Between stages: each side of a transfer has its other one.

#include "runtime/plan/Validate.h"

namespace reciperun::plan {
namespace {

/// The other side of a transfer, and null where no stage has it.
const Transfer* counterpart(const Plan& plan, int stage,
                            const Transfer& transfer) {
  for (const Transfer& other : plan.stages[size_t(transfer.peer)].transfers)
    if (other.channel == transfer.channel && other.kind != transfer.kind &&
        other.peer == stage)
      return &other;
  return nullptr;
}

} // namespace

Status validateTransfers(const Plan& plan) {
  for (size_t i = 0; i < plan.stages.size(); ++i)
    for (const Transfer& transfer : plan.stages[i].transfers) {
      const Transfer* other = counterpart(plan, int(i), transfer);
      if (!other)
        return damaged("transfer " + std::to_string(transfer.channel) +
                       " of stage " + std::to_string(i) + " has no other side");
      const Buffer& here = plan.stages[i].buffers[size_t(transfer.buffer)];
      const Buffer& there =
          plan.stages[size_t(transfer.peer)].buffers[size_t(other->buffer)];
      if (here.dtype != there.dtype || here.shape != there.shape)
        return damaged("transfer " + std::to_string(transfer.channel) +
                       " is of " + quoted(here.name) + " and of " +
                       quoted(there.name) + ", which differ");
    }
  return Status::ok();
}

} // namespace reciperun::plan
