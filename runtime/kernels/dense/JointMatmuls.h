// Runs several thin matmuls with one wide operand (SkinnyMatmuls.h) as one
// cuBLASLt matmul. The thin operands are packed side by side and their matrices
// one below the other, which costs little compared with reading the wide
// operand.

#ifndef RECIPERUN_KERNELS_DENSE_JOINTMATMULS_H
#define RECIPERUN_KERNELS_DENSE_JOINTMATMULS_H

#include "runtime/device/KernelTable.h"
#include "runtime/kernels/dense/SkinnyMatmuls.h"

namespace reciperun::kernels {

/// Whether thin matmuls run as one matmul. There must be two or three, the
/// packed parts must fit the buffer (PackedOperands.h), and they must not add
/// to a bf16 tensor, because the library would round before the addition.
bool areJoint(ThinKind kind, const SkinnyMatmuls& products);

Status runJoint(const device::CudaKernelArgs& args, ThinKind kind,
                const SkinnyMatmuls& products);

/// Chooses the matmul's algorithm. Destroys the contents of the operands.
Status prepareJoint(const device::CudaKernelArgs& args, ThinKind kind,
                    const SkinnyMatmuls& products);

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_DENSE_JOINTMATMULS_H
