// A barrier inside kernels that run on the GPUs of one host. Each rank sets
// flags in memory that the other ranks have mapped (PeerCopies.h).
//
// 1. Every thread block tells all ranks that the kernel has begun. All earlier
//    work of the stream is done by then. The block waits until all ranks have
//    begun. Then it reads and writes the memory of all ranks.
// 2. The last thread block to finish tells all ranks and waits until all ranks
//    have finished.
//
// A thread block waits for any one block of each other kernel, so the blocks of
// a kernel need not all be resident. The flag's value is the number of barriers
// passed. Each rank counts it in device memory, so a graph can be launched any
// number of times.

#ifndef RECIPERUN_COMM_CUDAPEERBARRIER_H
#define RECIPERUN_COMM_CUDAPEERBARRIER_H

#include "runtime/device/cuda/HostWords.h"
#include "runtime/sizes/ConnectionWidths.h"

#include <cstdint>

namespace reciperun::comm {

/// The barrier state of a group of ranks, in this rank's device memory.
struct PeerBarrierState {
  static constexpr int mostRanks = sizes::mostPeers;
  enum Flag { hasBegun, isDone, flagKinds };

  int ranks = 0;
  uint32_t times = 0;  // number of barriers passed
  uint32_t blocks = 0; // thread blocks of the kernel that have finished
  /// By rank of the group: `heard` has this rank's flags, which the other rank
  /// sets, and `told` the other rank's flags, which this rank sets.
  uint32_t* heard[mostRanks] = {};
  uint32_t* told[mostRanks] = {};
};

/// A kernel's barrier argument. A null `place` means a single rank: no barrier.
struct PeerBarrier {
  PeerBarrierState* place = nullptr;
  device::HostWord done = {}; // set when all ranks have finished
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_CUDAPEERBARRIER_H
