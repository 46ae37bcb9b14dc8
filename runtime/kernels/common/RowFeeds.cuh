// How the rows of a kernel's operands come into its threads' registers: norms.
//
// A token has gridDim.y rows, and a block takes that of blockIdx.y of every
// gridDim.x-th token (or of several, one for each threadIdx.y). Wide rows go
// through a ring of slots in shared memory, which the bulk copy engine keeps
// full: many bytes are under way, whatever the threads do. Others are loaded
// directly.

#ifndef RECIPERUN_KERNELS_COMMON_ROWFEEDS_CUH
#define RECIPERUN_KERNELS_COMMON_ROWFEEDS_CUH

#include "runtime/kernels/common/BulkCopies.cuh"
#include "runtime/kernels/common/NormRows.h"
#include "runtime/kernels/common/RowSlices.cuh"

namespace reciperun::kernels {

/// The tensors that a kernel reads rows of, all of one shape; of those behind
/// the first `count` all elements are 0.
template <class T, int operands> struct RowOperands {
  const T* from[operands];
  int64_t rows; // that a column of blocks shares: one of each token
  int width;
  int count = operands;
  int slots = 0; // of the ring

  __device__ bool has(int operand) const {
    return operand == 0 || operand < count;
  }

  /// Which of all rows a block's row is.
  __device__ static int64_t place(int64_t row) {
    return row * gridDim.y + blockIdx.y;
  }
};

/// The dynamic shared memory of kernels that take rows.
__device__ inline std::byte* rowRoom() {
  extern __shared__ uint4 bytesOfRows[];
  return reinterpret_cast<std::byte*>(bytesOfRows);
}

/// Rows from memory; `isAhead`: the next is loaded while one is worked on.
template <class T, class Part, int operands, bool isAhead> class LoadedRows {
public:
  static constexpr bool isRing = false;

  __device__ LoadedRows(const RowOperands<T, operands>& of, int64_t row)
      : of(of) {
    if constexpr (isAhead)
      load(row, next);
  }

  /// The parts of a row; zeros behind the last one. `step` leads to the next.
  __device__ void take(int64_t row, int64_t step, Part (&parts)[operands]) {
    if constexpr (isAhead) {
#pragma unroll
      for (int i = 0; i < operands; ++i)
        parts[i] = next[i];
      load(row + step, next);
    } else {
      load(row, parts);
    }
  }
  __device__ void release(int64_t, int64_t) {}

private:
  __device__ void load(int64_t row, Part (&parts)[operands]) const {
    const int width = row < of.rows ? of.width : 0;
#pragma unroll
    for (int i = 0; i < operands; ++i)
      parts[i].load(of.from[i] + of.place(row) * of.width,
                    of.has(i) ? width : 0);
  }

  const RowOperands<T, operands>& of;
  Part next[isAhead ? operands : 1];
};

inline constexpr int mostRingSlots = 4;

/// Rows through the ring. A block has one row at a time, and all its threads
/// call all functions.
template <class T, class Part, int operands> class RingRows {
public:
  static constexpr bool isRing = true;

  __device__ RingRows(const RowOperands<T, operands>& of, int64_t row)
      : of(of), full(barriers()), bytes(uint32_t(of.width * sizeof(T))) {
    if (threadIdx.x == 0) {
      for (int i = 0; i < of.slots; ++i)
        full[i].open();
      BulkBarrier::makeSeen();
    }
    __syncthreads();
    for (int i = 0; i < of.slots; ++i)
      fill(i, row + i * int64_t(gridDim.x));
  }

  __device__ void take(int64_t, int64_t, Part (&parts)[operands]) {
    full[slot].wait(turn);
#pragma unroll
    for (int i = 0; i < operands; ++i)
      parts[i].load(reinterpret_cast<const T*>(place(slot, i)),
                    of.has(i) ? of.width : 0);
  }

  /// Has the row's slot filled again: behind a barrier of the block that
  /// follows take().
  __device__ void release(int64_t row, int64_t step) {
    fill(slot, row + of.slots * step);
    if (++slot == of.slots) {
      slot = 0;
      ++turn;
    }
  }

private:
  __device__ static BulkBarrier* barriers() {
    __shared__ BulkBarrier ofSlots[mostRingSlots];
    return ofSlots;
  }
  __device__ std::byte* place(int slot, int operand) const {
    return rowRoom() + (slot * of.count + operand) * int64_t(bytes);
  }
  __device__ void fill(int slot, int64_t row) {
    if (threadIdx.x != 0 || row >= of.rows)
      return;
    full[slot].expect(bytes * of.count);
#pragma unroll
    for (int i = 0; i < operands; ++i)
      if (of.has(i))
        full[slot].copy(place(slot, i), of.from[i] + of.place(row) * of.width,
                        bytes);
  }

  const RowOperands<T, operands>& of;
  BulkBarrier* full;
  uint32_t bytes; // of a row
  int slot = 0;
  uint32_t turn = 0;
};

/// A ring for blocks of rows of `slotBytes`; `slots` is 0 where none fits.
struct RingShape {
  int slots = 0;
  int64_t blocks = 0; // of each row of a token
  size_t bytes = 0;

  RingShape() = default;
  /// With about `threadsWanted` threads a multiprocessor.
  RingShape(const device::CudaKernelArgs& args, const RowBlock& block,
            const NormRows& rows, int64_t slotBytes, int threadsWanted) {
    const auto& gpu = args.context.properties();
    const int64_t reserved = int64_t(gpu.reservedSharedMemPerBlock) + 1024;
    int64_t resident = std::max(1, threadsWanted / int(block.threads.x));
    for (; resident >= 1; --resident) {
      const int64_t room =
          int64_t(gpu.sharedMemPerMultiprocessor) / resident - reserved;
      if (room < 2 * slotBytes)
        continue;
      slots = int(std::min<int64_t>(mostRingSlots, room / slotBytes));
      bytes = size_t(slots * slotBytes);
      blocks = std::min(
          rows.tokens,
          ceilDivide(resident * args.context.multiprocessors(), rows.perToken));
      return;
    }
  }
};

/// How many blocks of `mostThreads` a multiprocessor is to hold.
constexpr int residentBlocks(int mostThreads) {
  return mostThreads > rows::usualThreads ? 1 : 2;
}

/// Whether rows that are taken so may come through a ring.
constexpr bool mayBeRing(int mostThreads, bool whole) {
  return whole && mostThreads == rows::usualThreads;
}

/// The ring for rows of T of so many operands; none for blocks of several rows.
template <class T>
RingShape ringOf(const device::CudaKernelArgs& args, const RowBlock& block,
                 const NormRows& rows, int operands, int threadsWanted) {
  if (block.threads.y > 1)
    return {};
  return RingShape(args, block, rows,
                   operands * rows.width * int64_t(sizeof(T)), threadsWanted);
}

/// So many blocks for each row of a token.
inline dim3 rowGrid(int64_t blocks, const NormRows& rows) {
  return dim3(unsigned(blocks), unsigned(rows.perToken));
}

/// Launches a kernel over RingRows.
template <class Operands>
void launchRing(void (*kernel)(Operands), const RingShape& ring,
                const RowBlock& block, const NormRows& rows,
                cudaStream_t stream, const Operands& operands) {
  // A refusal shows in the launch's own error.
  cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                       cudaFuncAttributeMaxDynamicSharedMemorySize,
                       int(ring.bytes));
  kernel<<<rowGrid(ring.blocks, rows), block.threads, ring.bytes, stream>>>(
      operands);
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_ROWFEEDS_CUH
