// The state of a training: what must be kept for it to go on.
//
// Of a trained parameter that is its weights in the widest type that the ranks
// hold and the optimizer's moments; of a frozen one its value. A rank holds
// them in parts: runs of elements of the parameter's local block. Which parts
// follows from the plan and the rank's number alone, so that any process can
// tell what any rank holds.

#ifndef RECIPERUN_CHECKPOINT_STATESHARDS_H
#define RECIPERUN_CHECKPOINT_STATESHARDS_H

#include "runtime/plan/Plan.h"

#include <cstdint>
#include <vector>

namespace reciperun::checkpoint {

enum class StateKind { weight, momentM, momentV, history };

/// A run of elements of a parameter's block, and where its rank keeps it; or a
/// whole history of maxima (plan/Histories.h), which belongs to none.
struct StateShard {
  int parameter = -1;
  StateKind kind = StateKind::weight;
  int64_t first = 0; // of the block's elements
  int64_t count = 0;
  int buffer = -1;     // of the rank's stage
  int64_t element = 0; // of the buffer's, where the run begins
  /// Of masters kept in halves (device/MasterHalves.h), the lower ones of which
  /// are in `buffer`: where the upper ones are, from the same element on. -1
  /// for all else.
  int upper = -1;
};

/// The region of which ranks keep parts alone that has a parameter, and its
/// number there; no region where its block is kept whole.
struct ParametersRegion {
  const plan::Region* region = nullptr;
  size_t member = 0;
};
ParametersRegion regionInParts(const plan::Stage& stage, int parameter);

/// What a rank keeps of the parameters' values in the compute type, by their
/// numbers: the whole block, or a run of it; nothing (`count` 0) of what
/// another rank or stage has. The plan is that of the rank's stage.
std::vector<StateShard> valueParts(const plan::Plan& plan, int rank);

/// The parts that a rank holds, several ranks perhaps the same ones: region by
/// region, member by member, then the frozen parameters.
std::vector<StateShard> stateParts(const plan::Plan& plan, int rank);

/// Those of them that the rank writes to a checkpoint: of all ranks that hold
/// a part, one writes it, the lowest of the first stage that has it.
std::vector<StateShard> writtenShards(const plan::Plan& plan, int rank);

/// The rank's histories: each has its own, of what it computes.
std::vector<StateShard> amaxHistoryShards(const plan::Plan& plan, int rank);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_STATESHARDS_H
