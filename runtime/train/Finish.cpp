// Training::finish: what comes after the last step.

#include "runtime/train/Training.h"

#include "runtime/plan/Mesh.h"

#include "runtime/checkpoint/GradientDump.h"
#include "runtime/checkpoint/HuggingFaceExport.h"

#include <cstdio>

namespace reciperun::train {

Status Training::finish() {
  const std::string& directory = plan.exchange.hf;
  if (!directory.empty()) {
    checkpoint::ArenaParameters access(plan, communicator.rank(), arena.base());
    RECIPERUN_TRY(
        checkpoint::exportHuggingFace(plan, access, communicator, directory));
    if (isRoot())
      progress->line("exported to `" + directory + "`");
  }
  return reportMemory();
}

/// Behind a step a rank has the part of each region's gradient that it updated;
/// the parts of the ranks that share a region make the whole.
Status Training::gatherGradients() {
  for (const plan::Region& region : plan.regions) {
    if (region.shardAxis.empty())
      continue;
    const plan::Parameter& first =
        plan.parameters[size_t(region.parameters.front())];
    exec::Tensor gradient = executor->tensor(first.gradient);
    int64_t before = executor->tensor(first.value).as<std::byte>() -
                     executor->tensor(region.param).as<std::byte>();
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

Status Training::dumpGradients(const std::string& path) {
  RECIPERUN_TRY(gatherGradients());
  checkpoint::ArenaParameters access(plan, communicator.rank(), arena.base());
  return checkpoint::dumpGradients(plan, access, communicator, path);
}

Status Training::reportMemory() {
  RECIPERUN_TRY(shareState());
  if (!isRoot())
    return Status::ok();
  int64_t predicted = plan.memory.total;
  double difference =
      predicted > 0 ? 100.0 * double(peak - predicted) / double(predicted) : 0;
  char percent[32];
  std::snprintf(percent, sizeof percent, "%+.1f %%", difference);
  progress->line("memory: arena " + std::to_string(arena.bytes()) +
                 " bytes, planned " + std::to_string(plan.memory.arena) +
                 "; peak of a rank " + bytesText(peak) + ", predicted " +
                 bytesText(predicted) + " (" + percent + ")");
  return Status::ok();
}

} // namespace reciperun::train
