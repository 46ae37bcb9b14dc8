// A rank's slices of the parameters of a region that several ranks share.
//
// The ranks along a region's shard axis keep equal, consecutive slices of it.
// A rank may therefore have all of a parameter, a slice of it, or nothing,
// depending on the parameter's offset in the region.

#ifndef RECIPERUN_PLAN_REGIONSHARDS_H
#define RECIPERUN_PLAN_REGIONSHARDS_H

#include "runtime/plan/Plan.h"

namespace reciperun::plan {

/// The number of elements of one rank's block of a parameter.
int64_t blockElements(const Parameter& parameter, const Mesh& mesh);

/// Elements [first, first + count) of a parameter's block. In the buffer of the
/// rank's part they start at index `element`.
struct Run {
  int64_t first = 0;
  int64_t count = 0;
  int64_t element = 0;
};

/// The slice of a parameter that is in the rank's part of its region; empty
/// when there is none. `member` is the parameter's index in the region.
Run runInShard(const Region& region, size_t member,
               const std::vector<Parameter>& parameters, const Mesh& mesh,
               int rank);

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_REGIONSHARDS_H
