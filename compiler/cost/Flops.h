// Floating-point operations of an op.
//
// Matrix products count 2 m n k. Attention counts its two products over the
// pairs that the mask keeps, s (s + 1) / 2 of them when causal, and its
// backward twice that. All else is not counted, as is usual for MFU (Chowdhery
// et al. 2022, "PaLM", appendix B).

#ifndef RECIPEC_COST_FLOPS_H
#define RECIPEC_COST_FLOPS_H

#include "compiler/ir/Ir.h"

namespace recipec::cost {

/// Of the whole op over all ranks; what ranks compute twice counts once.
double wholeFlops(const ir::Module& program, const ir::Op& op);

/// Of one rank.
double localFlops(const ir::Module& program, const ir::Op& op);

} // namespace recipec::cost

#endif // RECIPEC_COST_FLOPS_H
