// The largest sizes that the GPU kernels support. The compiler rejects a recipe
// that exceeds them, and a kernel rejects a plan that does.

#ifndef RECIPERUN_SIZES_KERNELLIMITS_H
#define RECIPERUN_SIZES_KERNELLIMITS_H

#include <cstdint>

namespace reciperun::sizes {

/// Width of a head in elements; attention keeps a query in registers.
inline constexpr int widestHead = 256;
/// Number of routed experts; each warp counts their tokens in shared memory.
inline constexpr int64_t mostExperts = 1536;
/// State size of a state space model, per channel.
inline constexpr int widestState = 256;
/// Size in bytes of a row that norms keep in the registers of a thread block.
inline constexpr int64_t widestRow = int64_t(64) << 10;

} // namespace reciperun::sizes

#endif // RECIPERUN_SIZES_KERNELLIMITS_H
