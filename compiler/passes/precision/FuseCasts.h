// Makes in 8 bits at once what is read in 8 bits alone.

#ifndef RECIPEC_PASSES_PRECISION_FUSECASTS_H
#define RECIPEC_PASSES_PRECISION_FUSECASTS_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// A swiglu whose result a quantize alone reads, and a swiglu_backward whose
/// two results two alike read → swiglu_quantize, swiglu_backward_quantize.
/// Behind all passes that know the single ops.
void fuseCasts(ir::Module& program);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_PRECISION_FUSECASTS_H
