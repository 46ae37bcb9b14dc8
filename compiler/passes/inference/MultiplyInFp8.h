// Runs matmuls of wide serving steps in fp8.

#ifndef RECIPEC_PASSES_INFERENCE_MULTIPLYINFP8_H
#define RECIPEC_PASSES_INFERENCE_MULTIPLYINFP8_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Turns each `quantized_linear` of many tokens into a `scaled_matmul`, if its
/// weight is in fp8 with scales of rows or of squares. The input is quantized
/// once for all matmuls that read it: with one scale per token if the weight
/// has scales of rows, and with one per 128 elements of a token if it has
/// scales of squares. Matmuls of few tokens are left alone, since they take as
/// long as reading the weight.
void multiplyInFp8(ir::Module& program);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_INFERENCE_MULTIPLYINFP8_H
