// Independent ops of a GPU that one kernel runs.

#ifndef RECIPERUN_KERNELS_DENSE_JOINEDKERNELS_H
#define RECIPERUN_KERNELS_DENSE_JOINEDKERNELS_H

#include "runtime/device/KernelTable.h"

#include <span>

namespace reciperun::kernels {

/// Enqueues ops of which none writes what another one uses as one kernel, if
/// there is one for them: for matmuls of few rows. Returns false, and enqueues
/// nothing, if there is none.
Expected<bool>
runJoinedCudaKernels(std::span<const device::CudaKernelArgs> calls);

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_DENSE_JOINEDKERNELS_H
