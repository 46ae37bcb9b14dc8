// The pass that runs collectives of a layer beside its products.

#ifndef RECIPEC_PASSES_DISTRIBUTED_OVERLAPMATMULS_H
#define RECIPEC_PASSES_DISTRIBUTED_OVERLAPMATMULS_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Cuts collectives between the ops of layers (those of tensor parallelism, of
/// keys and values that ranks of `cp` gather) in two where there is work to do
/// meanwhile, and moves products of weights' gradients, which nobody waits for,
/// in between. What is computed stays the same, to the bit.
void overlapMatmuls(ir::Module& program, const recipe::Recipe& recipe);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DISTRIBUTED_OVERLAPMATMULS_H
