// Errors of the CUDA runtime as Status: which call, what it said, and a way out
// where one is known. The executor adds op, function and rank.

#ifndef RECIPERUN_DEVICE_CUDA_CUDAERROR_H
#define RECIPERUN_DEVICE_CUDA_CUDAERROR_H

#include "runtime/base/Status.h"

#include <cuda_runtime_api.h>

namespace reciperun::device {

/// Ok for cudaSuccess; `call` is the function that gave the code.
Status cudaStatus(cudaError_t code, const char* call);

/// Whether the kernel launched before it was started. What it does wrong later
/// is told by a later call.
inline Status launchStatus() {
  return cudaStatus(cudaGetLastError(), "kernel launch");
}

} // namespace reciperun::device

/// Calls a function of the CUDA runtime and returns its failure.
#define RECIPERUN_CUDA_TRY(function, ...)                                      \
  RECIPERUN_TRY(                                                               \
      ::reciperun::device::cudaStatus(function(__VA_ARGS__), #function))

#endif // RECIPERUN_DEVICE_CUDA_CUDAERROR_H
