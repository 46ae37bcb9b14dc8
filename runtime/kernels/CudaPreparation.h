// What kernels of GPUs choose or compile before the first step, so that no step
// waits for it.

#ifndef RECIPERUN_KERNELS_CUDAPREPARATION_H
#define RECIPERUN_KERNELS_CUDAPREPARATION_H

#include "runtime/device/KernelTable.h"

#include <string>

namespace reciperun::kernels {

/// Gets ready for an op on its own buffers, whose contents are lost: the
/// algorithm of a matrix product, the plan of an attention; nothing for others.
/// What comes back is for the user: that it will be slower than it could be,
/// and why.
Expected<std::string> prepareCudaKernel(const device::CudaKernelArgs& args);

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_CUDAPREPARATION_H
