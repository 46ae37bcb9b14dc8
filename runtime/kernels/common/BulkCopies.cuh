// Copies of byte runs into shared memory by Hopper's bulk copy engine (TMA),
// and the barrier that signals their arrival.
//
// One thread initializes the barrier and starts copies. All threads may wait.
// Addresses and sizes are multiples of 16 bytes.

#ifndef RECIPERUN_KERNELS_COMMON_BULKCOPIES_CUH
#define RECIPERUN_KERNELS_COMMON_BULKCOPIES_CUH

#include <cstdint>

#include <cuda/ptx>

namespace reciperun::kernels {

namespace ptx = ::cuda::ptx;

/// A barrier in shared memory. It completes one phase each time that all bytes
/// of the phase have arrived. Phases are numbered from 0.
struct BulkBarrier {
  uint64_t word;

  /// Other threads see the barrier after makeSeen() and a __syncthreads().
  __device__ void open() { ptx::mbarrier_init(&word, 1); }
  __device__ static void makeSeen() {
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }

  /// Begins a phase of `bytes`.
  __device__ void expect(uint32_t bytes) {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta,
                                   ptx::space_shared, &word, bytes);
  }
  /// Starts a copy that belongs to the current phase.
  __device__ void copy(void* to, const void* from, uint32_t bytes) {
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, to, from, bytes,
                       &word);
  }
  /// Waits until phase `turn` is complete. It must be the current phase or the
  /// one before.
  __device__ void wait(uint32_t turn) {
    while (!ptx::mbarrier_try_wait_parity(&word, turn % 2)) {
    }
  }
};

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_BULKCOPIES_CUH
