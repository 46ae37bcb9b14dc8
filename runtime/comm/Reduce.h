// The arithmetic of reductions: the ranks' contributions in rank order.

#ifndef RECIPERUN_COMM_REDUCE_H
#define RECIPERUN_COMM_REDUCE_H

#include "runtime/comm/Communicator.h"

#include <cstddef>

namespace reciperun::comm {

/// out[i] = contribution 0 [i] + contribution 1 [i] + ..., or their maximum,
/// minimum or product. Contribution r starts at in + r * stride bytes. bf16 is
/// accumulated in f32 and rounded once, to nearest even. i32 and i64 wrap. A
/// maximum or minimum with a NaN is NaN.
void reduceInRankOrder(plan::DType type, Reduction reduction,
                       const std::byte* in, int64_t stride, int ranks,
                       int64_t elements, std::byte* out);

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_REDUCE_H
