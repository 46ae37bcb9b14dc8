// Computes activations again in the backward pass instead of keeping them.

#ifndef RECIPEC_PASSES_DIFFERENTIATE_RECOMPUTE_H
#define RECIPEC_PASSES_DIFFERENTIATE_RECOMPUTE_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// As `memory.recompute` says, in the first `recompute_layers` layers of each
/// chunk: `"full"` keeps what enters a layer (Chen et al. 2016), `"selective"`
/// all but what the parts in `recompute_modules` make (Korthikanti et al.
/// 2022). Takes a Program with `forward` and `backward`.
void recompute(ir::Module& program, const recipe::Recipe& recipe);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DIFFERENTIATE_RECOMPUTE_H
