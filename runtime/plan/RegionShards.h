// What a rank keeps of the members of a region that several ranks share.
//
// The ranks along a region's shard axis keep equal runs of it, one behind the
// other; members lie in it where they start, so that a rank may have a whole
// member, a run of one, or nothing.

#ifndef RECIPERUN_PLAN_REGIONSHARDS_H
#define RECIPERUN_PLAN_REGIONSHARDS_H

#include "runtime/plan/Plan.h"

namespace reciperun::plan {

/// Elements of one rank's block of a parameter.
int64_t blockElements(const Parameter& parameter, const Mesh& mesh);

/// Elements [first, first + count) of a block, which lie in a buffer from
/// `element` on.
struct Run {
  int64_t first = 0;
  int64_t count = 0;
  int64_t element = 0;
};

/// What of member number `member` of a region lies in the rank's part of it;
/// empty where nothing does.
Run runInShard(const Region& region, size_t member,
               const std::vector<Parameter>& parameters, const Mesh& mesh,
               int rank);

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_REGIONSHARDS_H
