// Combines ops of a Graph that one kernel does together.

#ifndef RECIPEC_PASSES_FUSE_FUSE_H
#define RECIPEC_PASSES_FUSE_FUSE_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// silu(gate) * up → swiglu, where nothing else reads the silu. Before
/// differentiation, so that the backward is that of the whole.
void fuse(ir::Module& module);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_FUSE_FUSE_H
