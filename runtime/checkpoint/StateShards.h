// The state of a training run: everything needed to resume it.
//
// For a trained parameter this is its weights in the widest type that the ranks
// store and the optimizer's moments; for a frozen one its value. A rank has
// shards of them: runs of elements of the parameter's local block. The shards
// follow from the plan and the rank only, so that any process can compute the
// shards of any rank.

#ifndef RECIPERUN_CHECKPOINT_STATESHARDS_H
#define RECIPERUN_CHECKPOINT_STATESHARDS_H

#include "runtime/plan/Plan.h"

#include <cstdint>
#include <vector>

namespace reciperun::checkpoint {

enum class StateKind { weight, momentM, momentV, history };

/// A run of elements of a parameter's block, and its location in the rank's
/// buffers; or a whole amax history (plan/AmaxHistories.h), which belongs to no
/// parameter.
struct StateShard {
  int parameter = -1;
  StateKind kind = StateKind::weight;
  int64_t first = 0; // index in the block
  int64_t count = 0;
  int buffer = -1;     // of the rank's stage
  int64_t element = 0; // index in the buffer of the run's first element
  /// For masters that are stored in halves (device/MasterHalves.h): the buffer
  /// of the upper halves, which start at the same element. `buffer` has the
  /// lower halves. Otherwise -1.
  int upper = -1;
};

/// The sharded region that contains a parameter, and the parameter's index in
/// it; a null region when the parameter's block is stored whole.
struct ParametersRegion {
  const plan::Region* region = nullptr;
  size_t member = 0;
};
ParametersRegion regionInParts(const plan::Stage& stage, int parameter);

/// The run of each parameter's value in the compute type that a rank stores, by
/// parameter: the whole block, a run of it, or nothing (`count` 0) when another
/// rank or stage has it. The plan must be that of the rank's stage.
std::vector<StateShard> valueParts(const plan::Plan& plan, int rank);

/// All shards of a rank, including those that other ranks also have: first by
/// region and parameter, then the frozen parameters outside of regions.
std::vector<StateShard> stateParts(const plan::Plan& plan, int rank);

/// The shards that the rank writes to a checkpoint: each shard is written by
/// the lowest rank of the first stage that has it.
std::vector<StateShard> writtenShards(const plan::Plan& plan, int rank);

/// The rank's amax histories; each rank has histories of its own computations.
std::vector<StateShard> amaxHistoryShards(const plan::Plan& plan, int rank);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_STATESHARDS_H
