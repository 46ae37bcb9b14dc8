// Checks that the ranks are where the plan's connections expect them.

#ifndef RECIPERUN_COMM_PLACEMENT_H
#define RECIPERUN_COMM_PLACEMENT_H

#include "runtime/base/Status.h"
#include "runtime/comm/ConnectionTable.h"

#include <cstdint>
#include <span>

namespace reciperun::comm {

/// Fails when ranks that map each other's memory are on different hosts. The
/// message says how to compile or start the job instead. `hosts` has, by rank,
/// the first rank on its host.
Status checkPlacement(const ConnectionTable& table,
                      std::span<const int64_t> hosts);

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_PLACEMENT_H
