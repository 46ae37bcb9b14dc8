// Tiles of a matrix's rows for the blocks of a GPU. Threads are arranged along
// the vectors of a row and down the rows. Each thread has one column of vectors
// and several rows.
//
// The grid is one-dimensional, so that neither many rows nor long rows exceed
// the limit of a grid's second dimension.

#ifndef RECIPERUN_KERNELS_COMMON_ROWTILES_CUH
#define RECIPERUN_KERNELS_COMMON_ROWTILES_CUH

#include "runtime/kernels/common/CudaTypes.cuh"

#include <algorithm>
#include <bit>

namespace reciperun::kernels {

struct RowTiles {
  static constexpr int blockThreads = 256;

  int64_t rows;
  int64_t columns;   // of vectors
  int rowsPerThread; // of a column
  unsigned chunks;   // blocks along a row

  RowTiles(int64_t rows, int64_t columns, int rowsPerThread)
      : rows(rows), columns(columns), rowsPerThread(rowsPerThread),
        chunks(unsigned(ceilDivide(columns, threads().x))) {}

  dim3 threads() const {
    const auto along = unsigned(std::min<int64_t>(
        blockThreads, int64_t(std::bit_ceil(uint64_t(columns)))));
    return dim3(along, blockThreads / along);
  }
  int rowsOfBlock() const { return int(threads().y) * rowsPerThread; }
  unsigned blocks() const {
    return unsigned(ceilDivide(rows, rowsOfBlock())) * chunks;
  }

  // ---- on the device

  __device__ int64_t column() const {
    return int64_t(blockIdx.x % chunks) * blockDim.x + threadIdx.x;
  }
  __device__ int64_t firstRow() const {
    return int64_t(blockIdx.x / chunks) * (int64_t(blockDim.y) * rowsPerThread);
  }
  /// The thread's row number `u`. It may be beyond the last row.
  __device__ int64_t row(int u) const {
    return firstRow() + u * int(blockDim.y) + int(threadIdx.y);
  }

  /// Calls body(row, row's index in the block) once for each of the block's
  /// rows, then synchronizes the block.
  template <class Body> __device__ void forRowsOfBlock(Body body) const {
    const int count = int(blockDim.y) * rowsPerThread;
    const int thread = int(threadIdx.y * blockDim.x + threadIdx.x);
    for (int i = thread; i < count; i += blockThreads)
      if (firstRow() + i < rows)
        body(firstRow() + i, i);
    __syncthreads();
  }
};

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_ROWTILES_CUH
