// The device functions of CudaPeerBarrier.h. All threads of all blocks call
// `enter` and then `leave`. A block has at least PeerBarrierState::mostRanks
// threads.

#ifndef RECIPERUN_COMM_CUDAPEERBARRIER_CUH
#define RECIPERUN_COMM_CUDAPEERBARRIER_CUH

#include "runtime/comm/CudaPeerBarrier.h"

#include <cuda/atomic>

namespace reciperun::comm {

/// A word that other GPUs read or write.
using SharedWord = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

/// Waits until the flags of all ranks have reached `times`; one thread waits
/// for each rank. Counters may wrap.
__device__ inline void hear(const PeerBarrierState& place,
                            PeerBarrierState::Flag flag, uint32_t times) {
  if (const int rank = int(threadIdx.x); rank < place.ranks) {
    const SharedWord word(place.heard[rank][flag]);
    while (int32_t(word.load(cuda::memory_order_acquire) - times) < 0)
      continue;
  }
}

/// Sets this rank's flag on all ranks.
__device__ inline void tell(const PeerBarrierState& place,
                            PeerBarrierState::Flag flag, uint32_t times) {
  if (const int rank = int(threadIdx.x); rank < place.ranks)
    SharedWord(place.told[rank][flag]).store(times, cuda::memory_order_release);
}

/// Returns when all ranks have completed their earlier work.
__device__ inline void enter(const PeerBarrier& barrier) {
  if (!barrier.place)
    return;
  const PeerBarrierState& place = *barrier.place;
  const uint32_t times = place.times + 1;
  tell(place, PeerBarrierState::hasBegun, times);
  hear(place, PeerBarrierState::hasBegun, times);
  __syncthreads();
}

/// Ends the kernel when all ranks have finished accessing each other's memory.
__device__ inline void leave(const PeerBarrier& barrier) {
  if (!barrier.place)
    return;
  PeerBarrierState& place = *barrier.place;
  __shared__ bool isLast;
  __syncthreads();
  if (threadIdx.x == 0)
    isLast =
        SharedWord(place.blocks).fetch_add(1, cuda::memory_order_acq_rel) + 1 ==
        gridDim.x * gridDim.y * gridDim.z;
  __syncthreads();
  if (!isLast)
    return;
  const uint32_t times = place.times + 1;
  tell(place, PeerBarrierState::isDone, times);
  hear(place, PeerBarrierState::isDone, times);
  __syncthreads();
  if (threadIdx.x == 0) {
    place.blocks = 0;
    place.times = times;
    if (barrier.done.place)
      *const_cast<volatile uint32_t*>(barrier.done.place) = barrier.done.value;
  }
}

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_CUDAPEERBARRIER_CUH
