// The memory pass: assigns an address to each value of a Program.

#ifndef RECIPEC_PASSES_MEMORY_PLANMEMORY_H
#define RECIPEC_PASSES_MEMORY_PLANMEMORY_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Fills `program.placements` (ordered by address) and `program.arenaBytes`,
/// and their counterparts for the host. Values that no function, region,
/// parameter or binding uses get no placement. Placements of different
/// categories never overlap, except the workspace and activations that are not
/// alive while an op uses it. Within `activations`, two values share bytes only
/// when their lifetimes do not overlap or one is an in-place result of the
/// other. An op that needs a workspace gets the attribute `workspace`, its
/// number of f32 elements; the value bound as `workspace` has the size of the
/// largest one.
void planMemory(ir::Module& program);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_MEMORY_PLANMEMORY_H
