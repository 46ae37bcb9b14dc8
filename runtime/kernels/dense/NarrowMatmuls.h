// Matmuls of few tokens, whose time is that of reading the weight. A decoding
// server runs them.

#ifndef RECIPERUN_KERNELS_DENSE_NARROWMATMULS_H
#define RECIPERUN_KERNELS_DENSE_NARROWMATMULS_H

#include "runtime/base/Status.h"
#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/Matmuls.h"

namespace reciperun::kernels {

/// Whether the kernel supports the matmul: y [m,n] = x [m,k] w [n,k]^T in bf16
/// with m up to 16, and aligned rows of whole groups of 32 columns.
bool isNarrow(const device::Matmuls::Shape& shape,
              const device::Matmuls::Operands& operands);

/// Enqueues y = alpha x w^T (+ base). Accumulates in f32. A row of y does not
/// depend on the other rows, but on their number. `isConstant` says that no
/// kernel writes w.
Status runNarrow(const device::Matmuls::Shape& shape, float alpha,
                 bool isConstant, const device::Matmuls::Operands& operands,
                 const device::CudaContext& context);

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_DENSE_NARROWMATMULS_H
