// Floating-point operations of an op.
//
// A matmul counts 2 m n k. Attention counts its two matmuls over the pairs that
// the mask keeps, s (s + 1) / 2 of them when causal, and its backward twice
// that. Nothing else counts, as is usual for MFU (Chowdhery et al. 2022,
// "PaLM", appendix B).

#ifndef RECIPEC_COST_FLOPS_H
#define RECIPEC_COST_FLOPS_H

#include "compiler/ir/Ir.h"

namespace recipec::cost {

/// Whether the op is an fp8 matmul.
bool isNarrowMatmul(const ir::Op& op);

/// FLOPs of the op over all ranks; work that ranks duplicate counts once.
double wholeFlops(const ir::Module& program, const ir::Op& op);

/// FLOPs of the op on one rank.
double localFlops(const ir::Module& program, const ir::Op& op);

} // namespace recipec::cost

#endif // RECIPEC_COST_FLOPS_H
