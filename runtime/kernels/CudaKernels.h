// The kernels of GPUs, by op: the twin of Kernels.h. CudaKernels.def lists
// them.

#ifndef RECIPERUN_KERNELS_CUDAKERNELS_H
#define RECIPERUN_KERNELS_CUDAKERNELS_H

#include "runtime/device/cuda/CudaKernelTable.h"

namespace reciperun::kernels {

template <plan::OpKind kind>
Status cudaKernel(const device::CudaKernelArgs& args);

/// The GPU's kernel of an op; null for a collective, and for an op that has
/// none (the user is told: "op `NAME` (OP) has no kernel on this device").
device::CudaKernel findCudaKernel(plan::OpKind kind);

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_CUDAKERNELS_H
