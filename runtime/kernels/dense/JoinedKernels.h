// Runs several independent ops as one GPU kernel.

#ifndef RECIPERUN_KERNELS_DENSE_JOINEDKERNELS_H
#define RECIPERUN_KERNELS_DENSE_JOINEDKERNELS_H

#include "runtime/device/KernelTable.h"

#include <span>

namespace reciperun::kernels {

/// Enqueues ops as one kernel, if there is one that can run them (matmuls of
/// few rows). No op may write a buffer that another one uses. Returns false,
/// and enqueues nothing, if there is no such kernel.
Expected<bool>
runJoinedCudaKernels(std::span<const device::CudaKernelArgs> calls);

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_DENSE_JOINEDKERNELS_H
