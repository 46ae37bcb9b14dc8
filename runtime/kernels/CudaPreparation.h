// Choices and compilations that GPU kernels make before the first step, so that
// no step waits for them.

#ifndef RECIPERUN_KERNELS_CUDAPREPARATION_H
#define RECIPERUN_KERNELS_CUDAPREPARATION_H

#include "runtime/device/KernelTable.h"

#include <string>

namespace reciperun::kernels {

/// Prepares an op on its own buffers, whose contents are lost: chooses the
/// algorithm of a matmul or builds the cuDNN plan of an attention. Does nothing
/// for other ops. Returns a message for the user if the op will be slower than
/// it could be, and why; empty otherwise.
Expected<std::string> prepareCudaKernel(const device::CudaKernelArgs& args);

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_CUDAPREPARATION_H
