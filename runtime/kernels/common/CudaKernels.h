// The GPU kernels, by op: the counterpart of Kernels.h.

#ifndef RECIPERUN_KERNELS_COMMON_CUDAKERNELS_H
#define RECIPERUN_KERNELS_COMMON_CUDAKERNELS_H

#include "runtime/device/KernelTable.h"

namespace reciperun::kernels {

/// Returns the GPU kernel of an op; null for a collective.
device::CudaKernel findCudaKernel(plan::OpKind kind);

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_CUDAKERNELS_H
