// The cores near a GPU: those of the NUMA node that its bus is attached to.
// They reach the GPU and the memory of that node without crossing to another
// node.

#ifndef RECIPERUN_DEVICE_CUDA_NEARBYCORES_H
#define RECIPERUN_DEVICE_CUDA_NEARBYCORES_H

#include <sched.h>

#include <string>

#include <cuda_runtime_api.h>

namespace reciperun::device {

/// Parses a list of cores as the kernel writes it: `0-15,32-47`. Empty when
/// `list` is not one.
cpu_set_t parseCoreList(const std::string& list);

/// Binds the calling thread, and all threads that it starts, to the allowed
/// cores near a GPU. Does nothing when there are none, or when the system does
/// not list them.
void moveNear(const cudaDeviceProp& gpu);

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_NEARBYCORES_H
