// Copies of runs of bytes into shared memory by the bulk copy engine of Hopper,
// and the barrier that tells when they are there.
//
// One thread sets the barrier up and starts copies; all may wait. Addresses and
// sizes are multiples of 16 bytes.

#ifndef RECIPERUN_KERNELS_COMMON_BULKCOPIES_CUH
#define RECIPERUN_KERNELS_COMMON_BULKCOPIES_CUH

#include <cstdint>

#include <cuda/ptx>

namespace reciperun::kernels {

/// In shared memory. It opens each time that the bytes of its turn are there;
/// turns are numbered from 0.
struct BulkBarrier {
  uint64_t word;

  /// Other threads see it after makeSeen() and a barrier of the block.
  __device__ void open() { cuda::ptx::mbarrier_init(&word, 1); }
  __device__ static void makeSeen() {
    cuda::ptx::fence_mbarrier_init(cuda::ptx::sem_release,
                                   cuda::ptx::scope_cluster);
  }

  /// Begins a turn of `bytes`.
  __device__ void expect(uint32_t bytes) {
    cuda::ptx::mbarrier_arrive_expect_tx(cuda::ptx::sem_release,
                                         cuda::ptx::scope_cta,
                                         cuda::ptx::space_shared, &word, bytes);
  }
  /// Starts a copy that belongs to the turn.
  __device__ void copy(void* to, const void* from, uint32_t bytes) {
    cuda::ptx::cp_async_bulk(cuda::ptx::space_cluster, cuda::ptx::space_global,
                             to, from, bytes, &word);
  }
  /// Waits until a turn is over: the one that has begun, or the one before.
  __device__ void wait(uint32_t turn) {
    while (!cuda::ptx::mbarrier_try_wait_parity(&word, turn % 2)) {
    }
  }
};

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_BULKCOPIES_CUH
