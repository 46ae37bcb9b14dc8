// Lets activations wait in the host's memory for the backward pass.

#ifndef RECIPEC_PASSES_MEMORY_OFFLOAD_H
#define RECIPEC_PASSES_MEMORY_OFFLOAD_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Moves what the first `memory.offload_layers` layers of each chunk save to
/// the host behind their forward pass, and back before their backward pass: the
/// copy of a layer runs beside the layer that is computed next. What another
/// stage is sent stays where it is, and what is computed again is not saved to
/// begin with. Takes the Program of a stage before its schedule.
void offload(ir::Module& program, const recipe::Recipe& recipe);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_MEMORY_OFFLOAD_H
