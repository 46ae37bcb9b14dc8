// The ring in shared memory through which a block's weights, keys and values
// pass. One warp copies them in the order in which the phases read them, as far
// ahead as there are free slots, so that memory is read while the block waits
// for others.

#ifndef RECIPERUN_KERNELS_DECODE_DECODERING_CUH
#define RECIPERUN_KERNELS_DECODE_DECODERING_CUH

#include "runtime/kernels/common/BulkCopies.cuh"
#include "runtime/kernels/decode/DecodeProgram.cuh"

namespace reciperun::kernels::decode {

/// Signals that the computing warps have read a slot.
struct SlotFree {
  uint64_t word;

  __device__ __forceinline__ void open() {
    ptx::mbarrier_init(&word, computingWarps);
  }
  /// Called by all lanes of a warp.
  __device__ __forceinline__ void arrive() {
    __syncwarp();
    if (threadIdx.x % 32 == 0)
      ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cta, ptx::space_shared,
                           &word);
  }
  __device__ __forceinline__ void wait(uint32_t turn) {
    while (!ptx::mbarrier_try_wait_parity(&word, turn % 2)) {
    }
  }
};

struct Ring {
  uint8_t bytes[slots][slotBytes];
  BulkBarrier full[slots];
  SlotFree free[slots];
};

/// A place in the ring's endless sequence of slots.
class RingPlace {
public:
  __device__ __forceinline__ explicit RingPlace(Ring& ring) : ring(&ring) {}

  __device__ __forceinline__ void advance() {
    if (++slot == slots) {
      slot = 0;
      ++turn;
    }
  }
  __device__ __forceinline__ void waitUntilFull() {
    ring->full[slot].wait(turn);
  }
  __device__ __forceinline__ void waitUntilFree() {
    if (turn > 0)
      ring->free[slot].wait(turn - 1);
  }
  __device__ __forceinline__ uint8_t* bytes() { return ring->bytes[slot]; }
  __device__ __forceinline__ BulkBarrier& full() { return ring->full[slot]; }
  __device__ __forceinline__ SlotFree& free() { return ring->free[slot]; }

private:
  Ring* ring;
  int slot = 0;
  uint32_t turn = 0;
};

/// Up to groupRows rows of a product, whose results a block computes.
struct RowGroup {
  const Product& product;
  int row, rows;
};

/// The rows of a block in a phase, as groups: those of one product after those
/// of another, or, for gated results, in turn.
class BlockRows {
public:
  __device__ __forceinline__ explicit BlockRows(const MatmulPhase& of)
      : of(of) {
    for (int i = 0; i < of.count; ++i)
      count += groupsOf(of.products[i]);
  }
  __device__ __forceinline__ int groups() const { return count; }

  __device__ __forceinline__ RowGroup group(int number) const {
    int product = 0;
    if (of.result == Result::gated) {
      product = number % 2;
      number /= 2;
    } else {
      for (int groups = groupsOf(of.products[0]); number >= groups;
           groups = groupsOf(of.products[++product]))
        number -= groups;
    }
    const Product& found = of.products[product];
    const int row = begin(found) + number * groupRows;
    return {found, row, min(groupRows, end(found) - row)};
  }

private:
  __device__ __forceinline__ static int begin(const Product& product) {
    return partBegin(product.n, int(blockIdx.x), int(gridDim.x));
  }
  __device__ __forceinline__ static int end(const Product& product) {
    return partBegin(product.n, int(blockIdx.x) + 1, int(gridDim.x));
  }
  __device__ __forceinline__ static int groupsOf(const Product& product) {
    return (end(product) - begin(product) + groupRows - 1) / groupRows;
  }

  const MatmulPhase& of;
  int count = 0;
};

__device__ __forceinline__ int bytesOfRow(const MatmulPhase& of) {
  return of.k * (of.stored == Stored::bf16 ? 2 : 1);
}
/// The lines of a row, rounded up to 1, 2, 4 or 8.
__device__ __forceinline__ int linesOfRow(const MatmulPhase& of) {
  const int bytes = bytesOfRow(of);
  return bytes <= lineBytes       ? 1
         : bytes <= 2 * lineBytes ? 2
         : bytes <= 4 * lineBytes ? 4
                                  : 8;
}

/// Starts a copy of bytes that are read once: they leave the L2 cache first.
__device__ __forceinline__ void copyOnce(BulkBarrier& barrier, void* to,
                                         const void* from, uint32_t bytes,
                                         uint64_t policy) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
               "bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(
                   uint32_t(__cvta_generic_to_shared(to))),
               "l"(from), "r"(bytes),
               "r"(uint32_t(__cvta_generic_to_shared(&barrier.word))),
               "l"(policy)
               : "memory");
}

/// Copies the rows of a block in a phase. Called by a warp.
__device__ __forceinline__ void copyWeights(const MatmulPhase& of,
                                            RingPlace& place, uint64_t policy) {
  const int rowBytes = bytesOfRow(of), rowsOfSlot = slotLines / linesOfRow(of);
  const BlockRows rows(of);
  for (int i = 0; i < rows.groups(); ++i) {
    const RowGroup group = rows.group(i);
    const uint8_t* from = group.product.w + int64_t(group.row) * rowBytes;
    for (int row = 0; row < group.rows; row += rowsOfSlot) {
      const int bytes = min(rowsOfSlot, group.rows - row) * rowBytes;
      place.waitUntilFree();
      if (threadIdx.x % 32 == 0) {
        place.full().expect(uint32_t(bytes));
        copyOnce(place.full(), place.bytes(), from, uint32_t(bytes), policy);
      }
      from += bytes;
      place.advance();
    }
  }
}

} // namespace reciperun::kernels::decode

#endif // RECIPERUN_KERNELS_DECODE_DECODERING_CUH
