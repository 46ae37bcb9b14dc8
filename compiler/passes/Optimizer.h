// The optimizer pass: regions, their state, and the functions `begin` and
// `update`. Takes a Program whose gradients are partial sums over dp.

#ifndef RECIPEC_PASSES_OPTIMIZER_H
#define RECIPEC_PASSES_OPTIMIZER_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <vector>

namespace recipec::passes {

/// Bytes to which every buffer of a plan is aligned: a cache line, and the
/// widest vector register.
inline constexpr int64_t bufferAlignment = 64;

/// Where each member starts in the flat buffers of its region, in elements:
/// the same in parameters, gradients, master and moments, and a whole number
/// of cache lines in each.
std::vector<int64_t> memberOffsets(const ir::Module& program,
                                   const ir::Region& region);

/// Fills `program.regions` and adds AdamW as the recipe's `optimizer` says,
/// shared by the ranks that add up a gradient unless `parallel.shard` is
/// `"none"`. Binds `norm_squared`, `learning_rate` and `step`, and rebinds
/// `loss` to its sum over dp.
void addOptimizer(ir::Module& program, const recipe::Recipe& recipe);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_OPTIMIZER_H
