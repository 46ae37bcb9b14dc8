// Several thin products of one wide operand (SkinnyMatmuls.h) as one of
// cuBLASLt's: their thin operands are brought together side by side and their
// matrices one under the other, which costs little beside the wide operand.

#ifndef RECIPERUN_KERNELS_DENSE_JOINTMATMULS_H
#define RECIPERUN_KERNELS_DENSE_JOINTMATMULS_H

#include "runtime/device/KernelTable.h"
#include "runtime/kernels/dense/SkinnyMatmuls.h"

namespace reciperun::kernels {

/// Whether products that are thin are made so: two or three, whose parts
/// together have room (PackedOperands.h), and which are added to nothing in
/// bf16, since the library would round them before.
bool areJoint(ThinKind kind, const SkinnyMatmuls& products);

Status runJoint(const device::CudaKernelArgs& args, ThinKind kind,
                const SkinnyMatmuls& products);

/// Chooses the product's algorithm; what its operands hold is lost.
Status prepareJoint(const device::CudaKernelArgs& args, ThinKind kind,
                    const SkinnyMatmuls& products);

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_DENSE_JOINTMATMULS_H
