// The memory and the files that the host gives this process.

#ifndef RECIPERUN_TRAIN_HOST_H
#define RECIPERUN_TRAIN_HOST_H

#include "runtime/base/Status.h"

#include <cstdint>

namespace reciperun::train {

/// Checks that the system grants this process `bytes` more bytes. Libraries
/// allocate them later and do not check whether the allocation succeeds.
Status checkMemoryBudget(int64_t bytes);

/// Returns freed memory to the system, so that temporary memory of a parser
/// does not add to the peak of the arena.
void releaseFreeMemory();

/// Raises the limit of open files to the maximum that the system allows: data
/// may consist of thousands of files.
void raiseFileLimit();

/// The peak memory of the process in bytes (VmHWM of proc(5)); 0 when the
/// system does not report it.
int64_t peakBytes();

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_HOST_H
