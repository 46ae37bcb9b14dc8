// Names of groups of ranks for messages.

#ifndef RECIPERUN_COMM_GROUPNAME_H
#define RECIPERUN_COMM_GROUPNAME_H

#include "runtime/plan/Plan.h"

#include <string>
#include <vector>

namespace reciperun::comm {

/// ``group `tp` of ranks 0, 2``. A long list shows the first ranks and the
/// last.
std::string nameOf(const plan::Group& group, const std::vector<int>& members);

/// `rank 3`, `ranks 0, 2`. A long list shows the first ranks and the last.
std::string nameOfRanks(const std::vector<int>& ranks);

/// `all 8 ranks`.
std::string nameOfAll(int ranks);

/// `rank 0 to rank 4 on link 2`.
std::string nameOfLink(int from, int to, int link);

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_GROUPNAME_H
