// The passes for fp8 matmuls (`precision.compute = "fp8"`).

#ifndef RECIPEC_PASSES_PRECISION_QUANTIZE_H
#define RECIPEC_PASSES_PRECISION_QUANTIZE_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// When the recipe computes in fp8, turns the linears of layers and their
/// gradients into fp8 matmuls. Takes a differentiated Program. Reports the
/// first linear whose sizes on a rank the hardware does not support.
void quantize(ir::Module& program, const recipe::Recipe& recipe,
              diag::Engine& engine);

/// Takes a stage with its optimizer, and removes quantized layouts that no op
/// reads. If a rank keeps the full weights, they are quantized once a step in
/// `begin`, and frozen ones once a run in `prepare`.
void keepQuantizedWeights(ir::Module& stage);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_PRECISION_QUANTIZE_H
