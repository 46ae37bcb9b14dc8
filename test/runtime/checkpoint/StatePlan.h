// Plans with only parameters, regions and state, in any layout, for tests of
// checkpoints.

#ifndef RECIPEC_TEST_RUNTIME_CHECKPOINT_STATEPLAN_H
#define RECIPEC_TEST_RUNTIME_CHECKPOINT_STATEPLAN_H

#include "runtime/checkpoint/StateShards.h"
#include "runtime/memory/Arena.h"
#include "runtime/plan/Plan.h"

#include <cstdint>
#include <vector>

namespace reciperun::checkpoint {

/// Mesh axis sizes, and whether several stages hold the embedding.
struct Layout {
  int pp = 1;
  int dp = 1;
  int tp = 1;
  bool shardState = true;
  plan::DType compute = plan::DType::f32;
  plan::DType master = plan::DType::f32; // in addition to bf16 parameters
};

/// The smallest multiple of `multiple` that is at least `number`.
int64_t roundUp(int64_t number, int64_t multiple);

/// Four parameters. `embed`, held by the first and the last stage, is split by
/// rows. `out`, split in the middle dimension, and `norm`, not split, belong to
/// the last stage. `base`, frozen and split by columns, belongs to the first.
/// The state of parameters split over `tp` is sharded over dp, that of `norm`
/// over both.
plan::Plan statePlan(const Layout& layout);

/// The arenas of all ranks of a plan.
class StateRanks {
public:
  explicit StateRanks(const Layout& layout);

  int count() const { return int(arenas.size()); }
  const plan::Plan& plan() const { return whole; }
  const memory::Arena& arena(int rank) const { return arenas[size_t(rank)]; }

  /// Fills values and state with a number unique to each element. Values get
  /// the rounded weights.
  void fill();
  /// Counts the elements of values and state that differ from those numbers;
  /// with `weightsAlone` only values and weights.
  int64_t wrong(bool weightsAlone = false) const;

  /// The same for masters of trained parameters in bf16 layouts. bf16 cannot
  /// represent these masters, and some lie halfway between two bf16 numbers.
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
