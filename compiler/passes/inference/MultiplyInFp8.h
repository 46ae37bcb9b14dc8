// The pass that multiplies in fp8 in a server's wide steps.

#ifndef RECIPEC_PASSES_INFERENCE_MULTIPLYINFP8_H
#define RECIPEC_PASSES_INFERENCE_MULTIPLYINFP8_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Turns the `quantized_linear`s of many tokens whose weights are in fp8 with
/// scales of rows or of squares into `scaled_matmul`s. The input is quantized
/// once for all matmuls that read it: with a scale for each token beside scales
/// of rows, and with one for each 128 elements of a token beside those of
/// squares. Matmuls of few tokens stay, since their time is that of reading the
/// weight.
void multiplyInFp8(ir::Module& program);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_INFERENCE_MULTIPLYINFP8_H
