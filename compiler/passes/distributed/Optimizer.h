// The optimizer pass: regions, their state, and the functions `begin` and
// `update`. Takes a Program whose gradients are partial sums over dp. What it
// leaves without a whole buffer the bucket pass brings and takes (Bucket.h).

#ifndef RECIPEC_PASSES_DISTRIBUTED_OPTIMIZER_H
#define RECIPEC_PASSES_DISTRIBUTED_OPTIMIZER_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <vector>

namespace recipec::passes {

/// Fills `program.regions` and adds AdamW as the recipe's `optimizer` says,
/// shared by the ranks that add up a gradient unless `parallel.shard` is
/// `"none"`. With `"gradients"` a region is a bucket, what one layer has of it,
/// and has no whole gradient; with `"parameters"` no whole parameters either.
/// Binds `norm_squared`, `learning_rate` and `step`, and rebinds `loss` to its
/// sum over dp.
void addOptimizer(ir::Module& program, const recipe::Recipe& recipe);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DISTRIBUTED_OPTIMIZER_H
