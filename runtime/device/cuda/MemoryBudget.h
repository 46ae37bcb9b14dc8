// Whether a GPU has room for a plan, known before anything is put there: what
// runs out of memory in the midst of a library's call is hard to understand.

#ifndef RECIPERUN_DEVICE_CUDA_MEMORYBUDGET_H
#define RECIPERUN_DEVICE_CUDA_MEMORYBUDGET_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

#include <cstdint>
#include <string>

namespace reciperun::device {

/// A GPU's memory, in bytes.
struct MemoryBudget {
  std::string gpu; // ``GPU 0 (`NVIDIA H200`)``
  int64_t total = 0;
  int64_t free = 0;
};

/// Fails where what is free is less than what a plan is predicted to take, but
/// for what this process has taken when it has opened the GPU.
Status checkMemoryBudget(const MemoryBudget& room,
                         const plan::MemoryTable& memory);

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_MEMORYBUDGET_H
