// The memory pass: an address for every value of a Program.

#ifndef RECIPEC_PASSES_MEMORY_PLANMEMORY_H
#define RECIPEC_PASSES_MEMORY_PLANMEMORY_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Fills `program.placements` (ordered by address) and `program.arenaBytes`,
/// and their counterparts on the host. Values that no function, region,
/// parameter or binding names get no place. Placements of the categories never
/// overlap one another; within `activations`, two values share bytes only when
/// their lives do not meet or one is the other written in place. An op that
/// needs a workspace gets the attribute `workspace`, its f32 elements; the
/// value bound as `workspace` is as large as the largest need.
void planMemory(ir::Module& program);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_MEMORY_PLANMEMORY_H
