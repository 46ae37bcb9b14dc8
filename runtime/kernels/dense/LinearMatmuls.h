// The matrix product that a linear op of the plan is, for those who choose its
// algorithm before the first step.

#ifndef RECIPERUN_KERNELS_DENSE_LINEARMATMULS_H
#define RECIPERUN_KERNELS_DENSE_LINEARMATMULS_H

#include "runtime/device/KernelTable.h"

namespace reciperun::kernels {

/// Chooses the algorithms of the products that a linear op is (any of the kinds
/// whose names begin with `linear`) on its own operands; any other op is none
/// of its concern. What operands hold is lost, and the device is waited for.
Status prepareMatmul(const device::CudaKernelArgs& args);

/// The same for a `scaled_matmul`.
Status prepareScaledMatmul(const device::CudaKernelArgs& args);

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_DENSE_LINEARMATMULS_H
