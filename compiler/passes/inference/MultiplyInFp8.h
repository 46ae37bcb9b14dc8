// The pass that multiplies in fp8 in a server's wide steps.

#ifndef RECIPEC_PASSES_INFERENCE_MULTIPLYINFP8_H
#define RECIPEC_PASSES_INFERENCE_MULTIPLYINFP8_H

#include "compiler/ir/Ir.h"

#include <cstdint>

namespace recipec::passes {

/// Whether a weight [n,k] can have scales that both `quantized_linear` and
/// `scaled_matmul` read.
bool fitsMatmulsInFp8(int64_t n, int64_t k);

/// Turns the `quantized_linear`s of many tokens whose weights are in fp8 with
/// scales of squares into `scaled_matmul`s: the input is quantized with a scale
/// for each 128 elements of a token, once for all matmuls that read it. Matmuls
/// of few tokens stay, since their time is that of reading the weight.
void multiplyInFp8(ir::Module& program);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_INFERENCE_MULTIPLYINFP8_H
