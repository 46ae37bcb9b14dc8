// The pass that overlaps collectives of a layer with its matmuls.

#ifndef RECIPEC_PASSES_DISTRIBUTED_OVERLAPMATMULS_H
#define RECIPEC_PASSES_DISTRIBUTED_OVERLAPMATMULS_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Splits collectives between the ops of layers in two when there is work to
/// overlap: the collectives of tensor parallelism, and the all-gather of keys
/// and values over `cp`. Moves weight-gradient matmuls, which no other op waits
/// for, between the start and the done op. Results are bit-identical.
void overlapMatmuls(ir::Module& program, const recipe::Recipe& recipe);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DISTRIBUTED_OVERLAPMATMULS_H
