// Loading of operand rows into the registers of a kernel's threads, for norms.
//
// A token has gridDim.y rows. A block processes row blockIdx.y of every
// gridDim.x-th token (or of several tokens, one for each threadIdx.y). Wide
// rows go through a ring of slots in shared memory. The bulk copy engine keeps
// the ring full, so that many bytes are in flight whatever the threads do.
// Other rows are loaded directly.

#ifndef RECIPERUN_KERNELS_COMMON_ROWFEEDS_CUH
#define RECIPERUN_KERNELS_COMMON_ROWFEEDS_CUH

#include "runtime/kernels/common/BulkCopies.cuh"
#include "runtime/kernels/common/NormRows.h"
#include "runtime/kernels/common/OverlappedLaunch.cuh"
#include "runtime/kernels/common/RowSlices.cuh"

namespace reciperun::kernels {

/// The tensors from which a kernel reads rows, all of one shape. Tensors after
/// the first `count` are absent and read as 0.
template <class T, int operands> struct RowOperands {
  const T* from[operands];
  int64_t rows; // of a column of blocks: one of each token
  int width;
  int count = operands;
  int slots = 0; // of the ring

  __device__ bool has(int operand) const {
    return operand == 0 || operand < count;
  }

  /// The index of a block's row among all rows.
  __device__ static int64_t place(int64_t row) {
    return row * gridDim.y + blockIdx.y;
  }
};

/// The dynamic shared memory of kernels that process rows.
__device__ inline std::byte* rowRoom() {
  extern __shared__ uint4 bytesOfRows[];
  return reinterpret_cast<std::byte*>(bytesOfRows);
}

/// Loads rows from global memory. If `isAhead`, it prefetches the next row
/// while the kernel processes the current one.
template <class T, class Part, int operands, bool isAhead> class LoadedRows {
public:
  static constexpr bool isRing = false;

  __device__ LoadedRows(const RowOperands<T, operands>& of, int64_t row)
      : of(of) {
    if constexpr (isAhead)
      load(row, next);
  }

  /// Takes the row `row`; zeros after the last row. The next call must take
  /// `row` + `step`.
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

/// Loads rows through the ring. A block processes one row at a time, and all
/// its threads call all functions.
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

  /// Refills the row's slot. The caller must have a __syncthreads() between
  /// take() and release().
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

/// The ring for blocks whose rows take `slotBytes`. `slots` is 0 if not even
/// two rows fit.
struct RingShape {
  int slots = 0;
  int64_t blocks = 0; // of each row of a token
  size_t bytes = 0;

  RingShape() = default;
  /// Plans for about `threadsWanted` threads per multiprocessor; fewer if slots
  /// are too large for that many blocks.
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

/// The number of blocks of `mostThreads` that a multiprocessor should hold.
constexpr int residentBlocks(int mostThreads) {
  return mostThreads > rows::usualThreads ? 1 : 2;
}

/// Whether rows with these template parameters may go through a ring.
constexpr bool mayBeRing(int mostThreads, bool whole) {
  return whole && mostThreads == rows::usualThreads;
}

/// Returns the ring for rows of T with `operands` operands. Returns an empty
/// ring for blocks of several rows.
template <class T>
RingShape ringOf(const device::CudaKernelArgs& args, const RowBlock& block,
                 const NormRows& rows, int operands, int threadsWanted) {
  if (block.threads.y > 1)
    return {};
  return RingShape(args, block, rows,
                   operands * rows.width * int64_t(sizeof(T)), threadsWanted);
}

/// A grid with `blocks` blocks for each row of a token.
inline dim3 rowGrid(int64_t blocks, const NormRows& rows) {
  return dim3(unsigned(blocks), unsigned(rows.perToken));
}

/// Launches a kernel over RingRows, which starts overlapped.
template <class Operands>
void launchRing(const device::CudaContext& context, void (*kernel)(Operands),
                const RingShape& ring, const RowBlock& block,
                const NormRows& rows, const Operands& operands) {
  // If this fails, the launch reports the error.
  cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                       cudaFuncAttributeMaxDynamicSharedMemorySize,
                       int(ring.bytes));
  launchOverlapped(context, kernel, rowGrid(ring.blocks, rows), block.threads,
                   ring.bytes, operands);
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_ROWFEEDS_CUH
