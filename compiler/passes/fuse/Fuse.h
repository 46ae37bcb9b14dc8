// Fuses ops of a Graph that one kernel computes.

#ifndef RECIPEC_PASSES_FUSE_FUSE_H
#define RECIPEC_PASSES_FUSE_FUSE_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// silu(gate) * up becomes swiglu when nothing else reads the silu. Runs before
/// differentiation, so that the backward pass uses the fused op.
void fuse(ir::Module& module);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_FUSE_FUSE_H
