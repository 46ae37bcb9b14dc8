// What the host gives this process: cores and memory.

#ifndef RECIPERUN_TRAIN_HOST_H
#define RECIPERUN_TRAIN_HOST_H

#include "runtime/comm/MpiSession.h"

#include <cstdint>

namespace reciperun::train {

/// Threads for this rank: as `OMP_NUM_THREADS` says, or the cores that it may
/// run on, shared with the ranks of the host that may run on the same ones; at
/// least 1. Collective; may fail on some ranks.
Expected<int> threadsOfRank(const comm::MpiSession& session);

/// Whether the system grants this process so many bytes more, which libraries
/// take later, without looking whether they get them.
Status checkMemoryBudget(int64_t bytes);

/// Gives memory that was freed back to the system, so that what a parser took
/// for a while does not add to the arena's peak.
void releaseFreeMemory();

/// Lets this process open as many files as the system allows: data may be in
/// thousands.
void raiseFileLimit();

/// The most memory that the process has held so far, in bytes (VmHWM of
/// proc(5)); 0 where the system does not tell.
int64_t peakBytes();

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_HOST_H
