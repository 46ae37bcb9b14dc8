// The GPUs that this program's kernels are compiled for: CMake's
// CMAKE_CUDA_ARCHITECTURES.

#ifndef RECIPERUN_DEVICE_CUDA_ARCHITECTURES_H
#define RECIPERUN_DEVICE_CUDA_ARCHITECTURES_H

#include <string>

namespace reciperun::device {

/// Code of an architecture runs on GPUs of its compute capability alone.
bool isBuiltFor(int major, int minor);

/// `9.0 (H100, H200)`.
std::string architectureNames();

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_ARCHITECTURES_H
