// The passes of products in 8 bits (`precision.compute = "fp8"`).

#ifndef RECIPEC_PASSES_PRECISION_QUANTIZE_H
#define RECIPEC_PASSES_PRECISION_QUANTIZE_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Makes the linears of layers, and their gradients, products of matrices in 8
/// bits, where the recipe computes in fp8; of a differentiated Program. Reports
/// the first of them whose sizes on a rank the hardware does not multiply.
void quantize(ir::Module& program, const recipe::Recipe& recipe,
              diag::Engine& engine);

/// Of a stage with its optimizer: drops layouts that no one reads, and makes
/// those of weights that a rank keeps whole once a step, in `begin`, or once a
/// run, in `prepare`, where they are frozen.
void keepQuantizedWeights(ir::Module& stage);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_PRECISION_QUANTIZE_H
