// Determines the start of a run: a checkpoint to resume, a checkpoint to take
// weights from, or neither.

#ifndef RECIPERUN_TRAIN_START_H
#define RECIPERUN_TRAIN_START_H

#include "runtime/checkpoint/CheckpointFolder.h"
#include "runtime/checkpoint/StateLoader.h"
#include "runtime/comm/Communicator.h"
#include "runtime/data/Loader.h"
#include "runtime/plan/Plan.h"

#include <optional>
#include <string>
#include <vector>

namespace reciperun::train {

/// The advice to the user when a checkpoint cannot be read and
/// `checkpoint.resume` is `"auto"`.
inline constexpr const char* unreadableWayOut =
    "mend that or move it away, or set `checkpoint.resume` to the path of the "
    "checkpoint to go on from, or to `\"never\"` to begin anew";

struct Start {
  /// The checkpoint, and the part of its state to load; nullopt when there is
  /// none.
  std::optional<checkpoint::StateReader> source;
  checkpoint::Take take = checkpoint::Take::all;
  /// The Hugging Face directory that weights come from; empty when there is a
  /// source, or when they are random.
  std::string directory;
  int64_t step = 0; // finished steps
  /// The settings that changed since the checkpoint was saved, as lines to
  /// print; only on rank 0.
  std::string changes;
  /// Whether to fall back to an earlier checkpoint when this one is damaged.
  /// True when `checkpoint.resume` is `"auto"`.
  bool mayFallBack = false;

  bool resumes() const { return source && take == checkpoint::Take::all; }
};

/// Finds the start of the run from `checkpoint.resume` and `weights`, and
/// compares it with the plan, the data and, on rank 0, the settings of the run.
/// Rank 0 must have opened `folder`. A checkpoint that cannot be read is an
/// error, and so are damaged ones when no intact one is left. Collective; fails
/// on all ranks with one message.
Expected<Start> findStart(const plan::Plan& plan,
                          comm::Communicator& communicator,
                          const checkpoint::CheckpointFolder& folder,
                          const data::Loader& data,
                          const std::vector<checkpoint::Setting>& settings);

/// Finds the weights to evaluate. `wanted` is the path of a checkpoint or of a
/// Hugging Face directory, `latest` for the run's last checkpoint, or empty.
/// Empty means the run's last checkpoint or, when it has none, `weights`. A
/// damaged checkpoint is an error. Otherwise like findStart.
Expected<Start> findWeights(const plan::Plan& plan,
                            comm::Communicator& communicator,
                            const checkpoint::CheckpointFolder& folder,
                            const std::string& wanted);

/// The position of a run after `step` steps.
checkpoint::Position positionAfter(const plan::Plan& plan,
                                   const data::Loader& data, int64_t step);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_START_H
