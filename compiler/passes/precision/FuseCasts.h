// Quantizes values to fp8 in the op that computes them.

#ifndef RECIPEC_PASSES_PRECISION_FUSECASTS_H
#define RECIPEC_PASSES_PRECISION_FUSECASTS_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Turns a swiglu whose result only a quantize reads into a swiglu_quantize,
/// and a swiglu_backward whose two results only two equal quantizes read into a
/// swiglu_backward_quantize. Turns an rmsnorm whose result only a quantize with
/// a scale for each row reads into an rmsnorm_quantize. Runs after all passes
/// that handle the single ops.
void fuseCasts(ir::Module& program);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_PRECISION_FUSECASTS_H
