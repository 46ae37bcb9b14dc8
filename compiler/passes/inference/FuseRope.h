// Fuses the rotation of queries and keys into attention over pages.

#ifndef RECIPEC_PASSES_INFERENCE_FUSEROPE_H
#define RECIPEC_PASSES_INFERENCE_FUSEROPE_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Two `rope`s with the same attributes, whose results only an
/// `attention_paged` reads as queries and keys, become its `rope`: keys are
/// then rotated where they are written into the pages.
void fuseRope(ir::Module& program);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_INFERENCE_FUSEROPE_H
