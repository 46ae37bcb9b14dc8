// Kernels whose launch overlaps the end of the kernel before them on the stream
// (programmatic dependent launch, Hopper and later): the blocks of the next
// kernel start on multiprocessors that become free while the last blocks of the
// previous kernel still run. It saves the microseconds between two small
// kernels.
//
// A kernel that launchOverlapped() launches calls waitForPreviousKernel() in
// all threads before its first access to memory that an earlier kernel writes,
// and before it writes any. All earlier work on the stream is then complete,
// because each kernel before it has waited, too. Without overlap the calls do
// nothing.

#ifndef RECIPERUN_KERNELS_COMMON_OVERLAPPEDLAUNCH_CUH
#define RECIPERUN_KERNELS_COMMON_OVERLAPPEDLAUNCH_CUH

#include "runtime/device/cuda/CudaContext.h"

#include <cuda_runtime.h>

#include <utility>

namespace reciperun::kernels {

/// Lets the next kernel start its blocks as soon as all blocks of this one have
/// called this or have ended.
__device__ __forceinline__ void releaseNextKernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Waits until the previous kernel is complete and its writes are visible.
__device__ __forceinline__ void waitForPreviousKernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// The start of a kernel that has nothing to do before the previous one is
/// complete.
__device__ __forceinline__ void startOverlapped() {
  releaseNextKernel();
  waitForPreviousKernel();
}

/// Launches a kernel on the context's stream, with overlap if the context
/// overlaps kernels. As after `<<<>>>`, launchStatus() has the failure.
template <class... Parameter, class... Argument>
void launchOverlapped(const device::CudaContext& context,
                      void (*kernel)(Parameter...), dim3 grid, dim3 threads,
                      size_t sharedBytes, Argument&&... argument) {
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t launch = {};
  launch.gridDim = grid;
  launch.blockDim = threads;
  launch.dynamicSmemBytes = sharedBytes;
  launch.stream = context.stream();
  launch.attrs = &overlap;
  launch.numAttrs = context.overlapsKernels() ? 1 : 0;
  cudaLaunchKernelEx(&launch, kernel, std::forward<Argument>(argument)...);
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_OVERLAPPEDLAUNCH_CUH
