// Quantizes values to fp8 in the op that computes them.

#ifndef RECIPEC_PASSES_PRECISION_FUSECASTS_H
#define RECIPEC_PASSES_PRECISION_FUSECASTS_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// A swiglu whose result only a quantize reads, and a swiglu_backward whose two
/// results only two like quantizes read, become swiglu_quantize and
/// swiglu_backward_quantize. An rmsnorm whose result only a quantize with a
/// scale for each row reads becomes an rmsnorm_quantize. Runs after all passes
/// that handle the single ops.
void fuseCasts(ir::Module& program);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_PRECISION_FUSECASTS_H
