// Offloads activations to host memory until the backward pass.

#ifndef RECIPEC_PASSES_MEMORY_OFFLOAD_H
#define RECIPEC_PASSES_MEMORY_OFFLOAD_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Copies the values that the first `memory.offload_layers` layers of each
/// chunk save to the host after their forward pass, and back before their
/// backward pass. The copies of a layer overlap the compute of the next layer.
/// Values that are sent to another stage stay on the device; recomputed values
/// are not saved. Takes a stage's Program before its schedule.
void offload(ir::Module& program, const recipe::Recipe& recipe);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_MEMORY_OFFLOAD_H
