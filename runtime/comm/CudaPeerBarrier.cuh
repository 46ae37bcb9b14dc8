// What kernels do to meet: see CudaPeerBarrier.h. All threads of all blocks
// call `enter` and then `leave`; a block has at least
// PeerBarrierState::mostRanks threads.

#ifndef RECIPERUN_COMM_CUDAPEERBARRIER_CUH
#define RECIPERUN_COMM_CUDAPEERBARRIER_CUH

#include "runtime/comm/CudaPeerBarrier.h"

#include <cuda/atomic>

namespace reciperun::comm {

/// A word that other GPUs write, or read.
using SharedWord = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

/// Waits until the words of all ranks are at `times`, or beyond: counts go
/// round. A thread has a rank.
__device__ inline void hear(const PeerBarrierState& place,
                            PeerBarrierState::Flag flag, uint32_t times) {
  if (const int rank = int(threadIdx.x); rank < place.ranks) {
    const SharedWord word(place.heard[rank][flag]);
    while (int32_t(word.load(cuda::memory_order_acquire) - times) < 0)
      continue;
  }
}

/// Sets the words that this rank has with all ranks.
__device__ inline void tell(const PeerBarrierState& place,
                            PeerBarrierState::Flag flag, uint32_t times) {
  if (const int rank = int(threadIdx.x); rank < place.ranks)
    SharedWord(place.told[rank][flag]).store(times, cuda::memory_order_release);
}

/// All ranks are done with what they enqueued before.
__device__ inline void enter(const PeerBarrier& barrier) {
  if (!barrier.place)
    return;
  const PeerBarrierState& place = *barrier.place;
  const uint32_t times = place.times + 1;
  tell(place, PeerBarrierState::hasBegun, times);
  hear(place, PeerBarrierState::hasBegun, times);
  __syncthreads();
}

/// The kernel ends when all ranks are done with the memory of all.
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
