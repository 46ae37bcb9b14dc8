// The optimizer pass: regions, their state, and the functions `begin` and
// `update`. Takes a Program whose gradients are partial sums over dp. The
// bucket pass (Bucket.h) handles the regions without a full buffer.

#ifndef RECIPEC_PASSES_DISTRIBUTED_OPTIMIZER_H
#define RECIPEC_PASSES_DISTRIBUTED_OPTIMIZER_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <vector>

namespace recipec::passes {

/// Fills `program.regions` and adds the AdamW of the recipe's `optimizer`.
/// Unless `parallel.shard` is `"none"`, the ranks that sum a gradient shard the
/// update. With `"gradients"` a region is a bucket (the parameters of one
/// layer) and has no full gradient; with `"parameters"` it has no full
/// parameters either. Binds `norm_squared`, `learning_rate` and `step`, and
/// rebinds `loss` to its sum over dp.
void addOptimizer(ir::Module& program, const recipe::Recipe& recipe);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DISTRIBUTED_OPTIMIZER_H
