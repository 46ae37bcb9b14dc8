// Checks that a plan fits a GPU before anything is allocated: an out-of-memory
// error inside a library call is hard to understand.

#ifndef RECIPERUN_DEVICE_CUDA_MEMORYBUDGET_H
#define RECIPERUN_DEVICE_CUDA_MEMORYBUDGET_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>

namespace reciperun::plan {
struct MemoryTable;
} // namespace reciperun::plan

namespace reciperun::device {

/// A GPU's memory, in bytes.
struct MemoryBudget {
  std::string gpu; // ``GPU 0 (`NVIDIA H200`)``
  int64_t total = 0;
  int64_t free = 0;
};

/// Fails when the free memory, plus the bytes that this process took by opening
/// the GPU, is less than the plan's predicted memory.
Status checkMemoryBudget(const MemoryBudget& room,
                         const plan::MemoryTable& memory);

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_MEMORYBUDGET_H
