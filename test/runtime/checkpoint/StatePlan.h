// Plans of parameters, regions and state alone, in any layout, for tests of
// checkpoints.

#ifndef RECIPEC_TEST_RUNTIME_CHECKPOINT_STATEPLAN_H
#define RECIPEC_TEST_RUNTIME_CHECKPOINT_STATEPLAN_H

#include "runtime/checkpoint/StateShards.h"
#include "runtime/memory/Arena.h"
#include "runtime/plan/Plan.h"

#include <vector>

namespace reciperun::checkpoint {

/// Ranks by axis, and whether several stages hold the embedding.
struct Layout {
  int pp = 1;
  int dp = 1;
  int tp = 1;
  bool shardState = true;
  plan::DType compute = plan::DType::f32;
  plan::DType master = plan::DType::f32; // beside parameters in bf16
};

/// Four parameters: `embed`, which the first and the last stage hold, split by
/// rows; `out`, split in its middle, and `norm`, not split, of the last; and
/// `base`, frozen, split by columns, of the first. The state of what `tp`
/// splits is sharded over dp, that of `norm` over both.
plan::Plan statePlan(const Layout& layout);

/// The arenas of all ranks of a plan.
class StateRanks {
public:
  explicit StateRanks(const Layout& layout);

  int count() const { return int(arenas.size()); }
  const plan::Plan& plan() const { return whole; }
  const memory::Arena& arena(int rank) const { return arenas[size_t(rank)]; }

  /// Gives every element of values and state a number that says which it is;
  /// the values get what the weights round to.
  void fill();
  /// How many elements of the values, and of the state but for `weightsAlone`,
  /// are not those numbers.
  int64_t wrong(bool weightsAlone = false) const;

  /// Likewise of masters of trained parameters in bf16 layouts, which bf16 does
  /// not hold, some of them in the middle between two that it does.
  void fillMasters();
  int64_t wrongMasters() const;

private:
  template <class Visit> void visit(const Visit& visit) const;
  template <class Visit> void visitMasters(const Visit& visit) const;

  plan::Plan whole;
  std::vector<memory::Arena> arenas;
};

} // namespace reciperun::checkpoint

#endif // RECIPEC_TEST_RUNTIME_CHECKPOINT_STATEPLAN_H
