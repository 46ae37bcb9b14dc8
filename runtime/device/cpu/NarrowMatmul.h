// Matmuls of few rows by a weight matrix, at the speed at which memory delivers
// the weights: the linear ops of a serving step.
//
// C [m,n] = alpha A [m,k] W [n,k]^T, or C += that, for m of up to 64 rows. A is
// copied into the layout of the processor's instructions, and W is read once,
// in place. An element of C is the same for every m and number of threads, bit
// for bit: it is a sum over k in an order that depends only on the processor
// and on whether m is one of the sizes of `isNarrow`.

#ifndef RECIPERUN_DEVICE_CPU_NARROWMATMUL_H
#define RECIPERUN_DEVICE_CPU_NARROWMATMUL_H

#include "runtime/device/cpu/AlignedBuffer.h"
#include "runtime/device/cpu/Gemm.h"

#include <vector>

namespace reciperun::device {

/// Whether narrowMatmul supports a shape: A is not transposed, W is, the input
/// is f32 or bf16, and A has few rows.
bool isNarrow(const Gemm::Shape& shape);

/// The instruction sets that the loops are compiled for, from the slowest to
/// the fastest. A processor without any of the x86 ones runs the portable loop.
enum class NarrowInstructions { portable, avx2, avx512, avx512Bf16, amx };

/// The instruction sets that the processor supports, the fastest first.
std::vector<NarrowInstructions> narrowInstructions();

/// Runs a matmul whose shape isNarrow, with the fastest instruction set.
/// `packed` holds the copy of A.
void narrowMatmul(const Gemm::Shape& shape, const void* a, const void* w,
                  void* c, AlignedBuffer& packed, int threads);

/// The same with a given instruction set, one of narrowInstructions().
void narrowMatmul(const Gemm::Shape& shape, const void* a, const void* w,
                  void* c, AlignedBuffer& packed, int threads,
                  NarrowInstructions instructions);

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CPU_NARROWMATMUL_H
