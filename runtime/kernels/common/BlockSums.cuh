// Reductions over the threads of a block, in an order that does not depend on
// timing.

#ifndef RECIPERUN_KERNELS_COMMON_BLOCKSUMS_CUH
#define RECIPERUN_KERNELS_COMMON_BLOCKSUMS_CUH

#include <cstdint>

namespace reciperun::kernels {

struct Plus {
  template <class M> __device__ M operator()(M a, M b) const { return a + b; }
};

struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/// Reduces `value` over groups of `lanes` neighbouring lanes (a power of two up
/// to 32). Every lane gets the result. All lanes of the warp must call it.
template <class M, class Operation>
__device__ M acrossLanes(M value, int lanes, Operation operation) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
    if (step < lanes)
      value = operation(value, __shfl_xor_sync(0xffffffffu, value, step));
  return value;
}

/// Reduces `count` values over a row of the block (the threads of one
/// threadIdx.y). Every thread gets the results. A row is a power of two up to
/// 32 threads, or it is the whole block and consists of whole warps. All
/// threads of the block call it. `room` holds 32 * count values in shared
/// memory; two consecutive calls need different rooms.
template <int count, class M, class Operation>
__device__ void acrossRow(M (&values)[count], M* room, Operation operation,
                          M neutral) {
#pragma unroll
  for (M& value : values)
    value = acrossLanes(value, int(blockDim.x), operation);
  if (blockDim.x <= 32)
    return;
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const int warps = int(blockDim.x) / 32;
  if (lane == 0)
#pragma unroll
    for (int i = 0; i < count; ++i)
      room[warp * count + i] = values[i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < count; ++i)
    values[i] = acrossLanes(lane < warps ? room[lane * count + i] : neutral, 32,
                            operation);
}

template <int count, class M>
__device__ void sumAcrossRow(M (&values)[count], M* room) {
  acrossRow(values, room, Plus(), M(0));
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_BLOCKSUMS_CUH
