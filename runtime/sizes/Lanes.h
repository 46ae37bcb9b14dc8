// The lanes of a GPU that serves: streams on which ops that do not depend on
// one another run at the same time.

#ifndef RECIPERUN_SIZES_LANES_H
#define RECIPERUN_SIZES_LANES_H

#include <cstdint>

namespace reciperun::sizes {

/// The number of lanes, including the plan's stream: enough to run the matmuls
/// of queries, keys and values at the same time.
inline constexpr int servingLanes = 3;
/// The scratch of a lane in bytes: partial sums of reductions, and the
/// workspace of cuBLASLt, which suggests 32 MiB for Hopper.
inline constexpr int64_t laneScratchBytes = int64_t(32) << 20;

} // namespace reciperun::sizes

#endif // RECIPERUN_SIZES_LANES_H
