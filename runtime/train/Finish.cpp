// Training::finish: what comes after the last step.

#include "runtime/train/Training.h"

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

Status Training::dumpGradients(const std::string& path) {
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
