// See ShardGather.h.

#include "runtime/train/ShardGather.h"

#include "runtime/plan/Mesh.h"

namespace reciperun::train {

Status gatherParameters(const plan::Plan& plan, const exec::Executor& executor,
                        comm::Communicator& communicator) {
  const plan::Stage& stage = plan::stageOf(plan, communicator.rank());
  for (const plan::Region& region : stage.regions)
    if (!region.shardAxis.empty() && region.param >= 0)
      RECIPERUN_TRY(communicator.allGather(
          plan::groupIndex(plan.mesh, region.shardAxis),
          executor.tensor(region.part), executor.tensor(region.param), 0));
  return Status::ok();
}

Status gatherGradients(const plan::Plan& plan, const exec::Executor& executor,
                       comm::Communicator& communicator) {
  const plan::Stage& stage = plan::stageOf(plan, communicator.rank());
  for (const plan::Holding& holding : stage.holdings)
    if (plan.parameters[size_t(holding.parameter)].trainable &&
        holding.gradient < 0)
      return Status::error("gradients are dumped where ranks keep them whole; "
                           "compile with `--set parallel.shard=\"optimizer\"`");
  for (const plan::Region& region : stage.regions) {
    if (region.shardAxis.empty())
      continue;
    const plan::Holding first =
        plan::holdingOf(stage, region.parameters.front());
    exec::Tensor gradient = executor.tensor(first.gradient);
    int64_t before = executor.tensor(first.value).as<std::byte>() -
                     executor.tensor(region.param).as<std::byte>();
    int64_t size = plan::byteSize(gradient.type);
    std::byte* data =
        gradient.as<std::byte>() - before / plan::byteSize(plan.compute) * size;
    int64_t part =
        region.elements / plan::axisSize(plan.mesh, region.shardAxis);
    int64_t own =
        plan::coordinate(plan.mesh, communicator.rank(), region.shardAxis);
    const int64_t whole[] = {region.elements}, shares[] = {part};
    RECIPERUN_TRY(communicator.allGather(
        plan::groupIndex(plan.mesh, region.shardAxis),
        {data + own * part * size, gradient.type, shares},
        {data, gradient.type, whole}, 0));
  }
  return Status::ok();
}

} // namespace reciperun::train
