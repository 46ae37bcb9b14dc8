// Chooses the algorithms of the linear ops' matmuls before the first step.

#ifndef RECIPERUN_KERNELS_DENSE_LINEARMATMULS_H
#define RECIPERUN_KERNELS_DENSE_LINEARMATMULS_H

#include "runtime/device/KernelTable.h"

namespace reciperun::kernels {

/// Chooses the algorithms of the matmuls of a linear op (any op whose name
/// begins with `linear`) on its own operands. Does nothing for other ops.
/// Destroys the contents of the operands and waits for the device.
Status prepareMatmul(const device::CudaKernelArgs& args);

/// Does the same for a `scaled_matmul`.
Status prepareScaledMatmul(const device::CudaKernelArgs& args);

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_DENSE_LINEARMATMULS_H
