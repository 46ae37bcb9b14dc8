// Sharded parameters that are all-gathered in fp8: each rank casts its own
// shard once a step, and matmuls read the gathered fp8 values. Ranks keep the
// gathered values, or gather them for each use when they keep only shards of
// parameters.

#ifndef RECIPEC_PASSES_PRECISION_GATHERINFP8_H
#define RECIPEC_PASSES_PRECISION_GATHERINFP8_H

#include "compiler/ir/Ir.h"

#include <set>
#include <vector>

namespace recipec::passes {

/// The parameters, by value, whose only readers quantize them to an fp8 matrix
/// with one scale.
std::set<ir::ValueId> findGatheredInFp8(const ir::Module& program);

/// A member of a region with an fp8 shard, and its scale.
struct Fp8Member {
  const ir::Region* region;
  int64_t start; // in the region
  ir::ParamId param;
  ir::ValueId scale;
};

/// Adds the ops that cast the shards and all-gather the values that ranks keep:
/// in each step, or once a run for frozen parameters, and before each
/// evaluation.
void castShards(ir::Module& program, const std::vector<Fp8Member>& members);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_PRECISION_GATHERINFP8_H
