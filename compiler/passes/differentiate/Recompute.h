// Recomputes activations in the backward pass instead of keeping them.

#ifndef RECIPEC_PASSES_DIFFERENTIATE_RECOMPUTE_H
#define RECIPEC_PASSES_DIFFERENTIATE_RECOMPUTE_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Applies `memory.recompute` to the first `recompute_layers` layers of each
/// chunk. `"full"` keeps only the inputs of a layer (Chen et al. 2016);
/// `"selective"` keeps everything except the results of the parts in
/// `recompute_modules` (Korthikanti et al. 2022). Takes a Program with
/// `forward` and `backward`.
void recompute(ir::Module& program, const recipe::Recipe& recipe);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DIFFERENTIATE_RECOMPUTE_H
