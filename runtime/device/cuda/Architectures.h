// The GPUs that this program's kernels are compiled for: CMake's
// CMAKE_CUDA_ARCHITECTURES.

#ifndef RECIPERUN_DEVICE_CUDA_ARCHITECTURES_H
#define RECIPERUN_DEVICE_CUDA_ARCHITECTURES_H

#include <string>

namespace reciperun::device {

/// Code compiled for an architecture only runs on GPUs of that compute
/// capability.
bool isBuiltFor(int major, int minor);

/// `9.0 (H100, H200)`.
std::string architectureNames();

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_ARCHITECTURES_H
