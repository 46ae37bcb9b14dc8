// Rows of tokens go to experts in fp8.

#ifndef RECIPEC_PASSES_PRECISION_DISPATCHINFP8_H
#define RECIPEC_PASSES_PRECISION_DISPATCHINFP8_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// With `precision.dispatch` = "fp8", quantizes the rows that a dispatch, or
/// the gradient of a combine, makes for experts. Ranks exchange the bytes, and
/// experts read the dequantized rows (DeepSeek-AI 2024, arXiv 2412.19437,
/// section 3.3.3). Runs between differentiation and recomputation.
void dispatchInFp8(ir::Module& program, const recipe::Recipe& recipe);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_PRECISION_DISPATCHINFP8_H
