// Errors of the CUDA runtime as Status: the call, its error text, and a remedy
// if one is known. The executor adds op, function and rank.

#ifndef RECIPERUN_DEVICE_CUDA_CUDAERROR_H
#define RECIPERUN_DEVICE_CUDA_CUDAERROR_H

#include "runtime/base/Status.h"

#include <cuda_runtime_api.h>

namespace reciperun::device {

/// Ok for cudaSuccess; `call` is the function that returned the code.
Status cudaStatus(cudaError_t code, const char* call);

/// Whether the last kernel launch succeeded. A later call reports errors of the
/// kernel's execution.
inline Status launchStatus() {
  return cudaStatus(cudaGetLastError(), "kernel launch");
}

} // namespace reciperun::device

/// Calls a function of the CUDA runtime and returns its failure.
#define RECIPERUN_CUDA_TRY(function, ...)                                      \
  RECIPERUN_TRY(                                                               \
      ::reciperun::device::cudaStatus(function(__VA_ARGS__), #function))

#endif // RECIPERUN_DEVICE_CUDA_CUDAERROR_H
