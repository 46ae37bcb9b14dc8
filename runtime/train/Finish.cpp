// Training::finish: exports the model and reports memory after the last step.

#include "runtime/train/Training.h"

#include "runtime/base/Text.h"
#include "runtime/checkpoint/GradientDump.h"
#include "runtime/checkpoint/HuggingFaceExport.h"
#include "runtime/plan/Mesh.h"
#include "runtime/train/Host.h"
#include "runtime/train/ShardGather.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <vector>

namespace reciperun::train {
namespace {

/// `arena 64 bytes, planned 64; peak of a rank 1.0 MiB, predicted 1.0 MiB`.
std::string memoryText(const plan::MemoryTable& planned, int64_t predicted,
                       int64_t largest, int64_t smallest, int64_t peak) {
  double apart =
      predicted > 0 ? 100.0 * double(peak - predicted) / double(predicted) : 0;
  char percent[32];
  std::snprintf(percent, sizeof percent, "%+.1f %%", apart);
  std::string bytes = std::to_string(largest);
  if (smallest != largest)
    bytes = std::to_string(smallest) + " to " + bytes;
  return "arena " + bytes + " bytes, planned " + std::to_string(planned.arena) +
         "; peak of a rank " + bytesText(peak) + ", predicted " +
         bytesText(predicted) + " (" + percent + ")";
}

} // namespace

Status Training::finish() {
  if (profiling.timesOps() && isRoot())
    progress->line(profiling.table());
  if (isRoot())
    reportSources();
  const std::string& directory = plan.exchange.hf;
  if (!directory.empty()) {
    RECIPERUN_TRY(gatherParameters(plan, *executor, communicator));
    checkpoint::ArenaParameters access(plan, communicator.rank(), arena.base(),
                                       device);
    RECIPERUN_TRY(
        checkpoint::exportHuggingFace(plan, access, communicator, directory));
    if (isRoot())
      progress->line("exported to `" + directory + "`");
  }
  return reportMemory();
}

/// Prints how many rows each source of a blend contributed.
void Training::reportSources() {
  const int64_t steps = sets.train->steps();
  const double rows = double(sets.train->samplesBefore(steps));
  for (const data::SourceRows& source : sets.train->sourcesBefore(steps)) {
    char text[96];
    std::snprintf(text, sizeof text, "%ld rows (%.2f %%), %.3g epochs of it",
                  long(source.rows), 100 * double(source.rows) / rows,
                  source.epochs);
    progress->line("data of " + source.name + ": " + text);
  }
}

Status Training::dumpGradients(const std::string& path) {
  RECIPERUN_TRY(gatherGradients(plan, *executor, communicator));
  checkpoint::ArenaParameters access(plan, communicator.rank(), arena.base(),
                                     device);
  return checkpoint::dumpGradients(plan, access, communicator, path);
}

/// The peak of the memory that the plan accounts for: of the process, or of its
/// device if that has its own memory.
int64_t Training::takenBytes() const {
  return device.isHost() ? peakBytes() : device.takenBytes();
}

/// Prints one line per stage: the actual and the planned size of the arena, and
/// the largest and the predicted peak of its ranks.
Status Training::reportMemory() {
  const size_t stages = plan.stages.size();
  constexpr size_t values = 3; // largest arena, smallest one negated, peak
  std::vector<int64_t> taken(stages * values,
                             std::numeric_limits<int64_t>::min());
  int64_t* mine =
      &taken[values *
             size_t(plan::coordinate(plan.mesh, communicator.rank(), "pp"))];
  mine[0] = arena.bytes();
  mine[1] = -arena.bytes();
  mine[2] = takenBytes();
  const int64_t shape[] = {int64_t(taken.size())};
  exec::Tensor view{taken.data(), plan::DType::i64, shape};
  RECIPERUN_TRY(communicator.host().allReduce(comm::world, view, view,
                                              comm::Reduction::max));
  if (!isRoot())
    return Status::ok();
  for (size_t i = 0; i < stages; ++i) {
    const int64_t* found = &taken[values * i];
    std::string where =
        stages == 1 ? "memory" : "memory of stage " + std::to_string(i);
    const plan::MemoryTable& planned = plan.stages[i].memory;
    progress->line(where + ": " +
                   memoryText(planned, predictedBytes(planned), found[0],
                              -found[1], found[2]));
  }
  return Status::ok();
}

} // namespace reciperun::train
