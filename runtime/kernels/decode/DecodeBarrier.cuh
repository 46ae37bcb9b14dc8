// Barriers of the computing threads of a block, and of all blocks.

#ifndef RECIPERUN_KERNELS_DECODE_DECODEBARRIER_CUH
#define RECIPERUN_KERNELS_DECODE_DECODEBARRIER_CUH

#include "runtime/kernels/decode/DecodeProgram.cuh"

namespace reciperun::kernels::decode {

/// Waits for the computing threads of the block.
__device__ __forceinline__ void meet() {
  asm volatile("bar.sync 1, %0;" ::"n"(computingThreads) : "memory");
}

/// Adds 1 to a counter of blocks: releases what the block has written before a
/// meet(), and acquires what blocks before have. Returns the value before.
__device__ __forceinline__ unsigned addToCounter(unsigned& counter) {
  unsigned before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
               : "=r"(before)
               : "l"(&counter)
               : "memory");
  return before;
}

/// Counts the blocks that have ended phases. The last block to end the last
/// phase sets the counter to 0.
class PhaseCount {
public:
  __device__ __forceinline__ PhaseCount(unsigned& counter, int phases)
      : counter(&counter), phases(phases) {}

  /// Ends a phase: its results become visible to other blocks.
  __device__ __forceinline__ void end(int phase) const {
    meet();
    if (threadIdx.x != 0)
      return;
    if (phase + 1 < phases)
      asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter)
                   : "memory");
    else if (addToCounter(*counter) == unsigned(phases) * gridDim.x - 1)
      *counter = 0;
  }

  /// Waits until all blocks have ended the phases before `phase`.
  __device__ __forceinline__ void waitFor(int phase) const {
    if (threadIdx.x == 0) {
      const unsigned wanted = unsigned(phase) * gridDim.x;
      unsigned seen;
      do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                     : "=r"(seen)
                     : "l"(counter)
                     : "memory");
      } while (seen < wanted);
    }
    meet();
  }

private:
  unsigned* counter;
  int phases;
};

/// Sums and maxima over the computing threads. `room` has an element for each
/// warp.
__device__ __forceinline__ float2 sumAndMaximum(float2 value, float2* room) {
  for (int far = 16; far; far /= 2) {
    value.x += __shfl_xor_sync(~0u, value.x, far);
    value.y = fmaxf(value.y, __shfl_xor_sync(~0u, value.y, far));
  }
  if (threadIdx.x % 32 == 0)
    room[threadIdx.x / 32] = value;
  meet();
  value = room[0];
#pragma unroll
  for (int i = 1; i < computingWarps; ++i)
    value = {value.x + room[i].x, fmaxf(value.y, room[i].y)};
  return value;
}

} // namespace reciperun::kernels::decode

#endif // RECIPERUN_KERNELS_DECODE_DECODEBARRIER_CUH
