// The CPU kernels: one for each op of runtime/ops that is not a collective.
//
// Each file of this folder holds one op, forward and backward. The table of
// findKernel names all ops, so an op without a kernel fails to link.

#ifndef RECIPERUN_KERNELS_COMMON_KERNELS_H
#define RECIPERUN_KERNELS_COMMON_KERNELS_H

#include "runtime/device/KernelTable.h"

namespace reciperun::kernels {

/// Returns the CPU kernel of an op; null for a collective.
device::Kernel findKernel(plan::OpKind kind);

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_KERNELS_H
