// The cores that are near a GPU: of the NUMA node that its bus belongs to, by
// way of which the host's memory and the GPU are reached without a detour.

#ifndef RECIPERUN_DEVICE_CUDA_NEARBYCORES_H
#define RECIPERUN_DEVICE_CUDA_NEARBYCORES_H

#include <sched.h>

#include <string>

#include <cuda_runtime_api.h>

namespace reciperun::device {

/// The cores of a list as the kernel writes it: `0-15,32-47`. Empty where it is
/// none.
cpu_set_t parseCoreList(const std::string& list);

/// Has the calling thread, and all that it starts, run on the cores near a GPU,
/// of those that it may run on. Nothing changes where none is, or where the
/// system does not tell.
void moveNear(const cudaDeviceProp& gpu);

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_NEARBYCORES_H
