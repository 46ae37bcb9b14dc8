// How kernels of the ranks of a host meet, each in the midst of its own: they
// say in flags, which the others have mapped (PeerCopies.h), how far they are.
//
// 1. A block that begins tells all ranks that the kernel has begun: what was
//    enqueued before it is done. It waits until all ranks have said so, and
//    then reads and writes the memory of all.
// 2. The block that is the last to be done with that tells all ranks, and waits
//    until all have said so, too.
//
// A block waits for any one of each kernel, so that they need not all run at a
// time. What is said is how many times the ranks have met, which each rank
// counts in its memory: a graph may be launched any number of times.

#ifndef RECIPERUN_COMM_CUDAPEERBARRIER_H
#define RECIPERUN_COMM_CUDAPEERBARRIER_H

#include "runtime/device/cuda/HostWords.h"

#include <cstdint>

namespace reciperun::comm {

/// Of a group of ranks, in this rank's memory of the device.
struct PeerBarrierState {
  static constexpr int mostRanks = 64;
  enum Flag { hasBegun, isDone, flagKinds };

  int ranks = 0;
  uint32_t times = 0;  // that the ranks have met
  uint32_t blocks = 0; // of the kernel, that are done
  /// By rank of the group: what it tells this one, and this one it.
  uint32_t* heard[mostRanks] = {};
  uint32_t* told[mostRanks] = {};
};

/// What a kernel is given; without a place it is alone.
struct PeerBarrier {
  PeerBarrierState* place = nullptr;
  device::HostWord done = {}; // set when all ranks are
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_CUDAPEERBARRIER_H
