// A rank's slices of the parameters of a region that several ranks share.
//
// The ranks along a region's shard axis keep equal, consecutive slices of it.
// Each parameter lies at its offset in the region, so a rank may have a whole
// parameter, a slice of one, or nothing of it.

#ifndef RECIPERUN_PLAN_REGIONSHARDS_H
#define RECIPERUN_PLAN_REGIONSHARDS_H

#include "runtime/plan/Plan.h"

namespace reciperun::plan {

/// The number of elements of one rank's block of a parameter.
int64_t blockElements(const Parameter& parameter, const Mesh& mesh);

/// Elements [first, first + count) of a block. In the buffer they start at
/// `element`.
struct Run {
  int64_t first = 0;
  int64_t count = 0;
  int64_t element = 0;
};

/// The slice of parameter number `member` of a region that lies in the rank's
/// part; empty when there is none.
Run runInShard(const Region& region, size_t member,
               const std::vector<Parameter>& parameters, const Mesh& mesh,
               int rank);

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_REGIONSHARDS_H
