// What a run starts with: a checkpoint to go on from, one to take weights from,
// or neither.

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

/// What to do about a checkpoint that cannot be read where `checkpoint.resume`
/// is `"auto"`.
inline constexpr const char* unreadableWayOut =
    "mend that or move it away, or set `checkpoint.resume` to the path of the "
    "checkpoint to go on from, or to `\"never\"` to begin anew";

struct Start {
  /// The checkpoint, and what is taken from it; nothing where there is none.
  std::optional<checkpoint::StateReader> source;
  checkpoint::Take take = checkpoint::Take::all;
  int64_t step = 0; // steps that are over
  /// What is not as it was when the checkpoint was saved, as lines to print; on
  /// rank 0.
  std::string changes;
  /// Whether an earlier checkpoint may be taken where this one is damaged: the
  /// recipe names none.
  bool mayFallBack = false;

  bool resumes() const { return source && take == checkpoint::Take::all; }
};

/// Finds where the run starts, as `checkpoint.resume` and `weights` say, and
/// compares it with the plan, the data and, on rank 0, the run's settings. On
/// rank 0 `folder` has been opened. A checkpoint that cannot be read is not
/// passed over, and neither is the last one that is left. Collective; fails on
/// all ranks with one message.
Expected<Start> findStart(const plan::Plan& plan,
                          comm::Communicator& communicator,
                          const checkpoint::CheckpointFolder& folder,
                          const data::Loader& data,
                          const std::vector<checkpoint::Setting>& settings);

/// Finds the checkpoint whose weights are to be evaluated: `wanted` is its
/// path, or `latest` for the run's last one, or empty for that where there is
/// one, and else what `weights` names, which `source` is empty for where that
/// is a Hugging Face directory. One that is damaged is an error. As findStart
/// otherwise.
Expected<Start> findWeights(const plan::Plan& plan,
                            comm::Communicator& communicator,
                            const checkpoint::CheckpointFolder& folder,
                            const std::string& wanted);

/// Where a run stands when `step` steps are over.
checkpoint::Position positionAfter(const plan::Plan& plan,
                                   const data::Loader& data, int64_t step);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_START_H
