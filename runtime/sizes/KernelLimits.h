// The largest sizes that the kernels of GPUs are made for: the compiler refuses
// a recipe that goes beyond them, and a kernel a plan that does.

#ifndef RECIPERUN_SIZES_KERNELLIMITS_H
#define RECIPERUN_SIZES_KERNELLIMITS_H

#include <cstdint>

namespace reciperun::sizes {

/// Elements of a head, of which attention keeps a query in registers.
inline constexpr int widestHead = 256;
/// Experts that tokens are sent to, which each warp counts in shared memory.
inline constexpr int64_t mostExperts = 1536;
/// Numbers of a state space's state, for a channel.
inline constexpr int widestState = 256;
/// Bytes of a row that norms keep in a block's registers.
inline constexpr int64_t widestRow = int64_t(64) << 10;

} // namespace reciperun::sizes

#endif // RECIPERUN_SIZES_KERNELLIMITS_H
