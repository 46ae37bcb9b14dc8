// Rows that GPU threads hold in registers, so that a kernel reads each byte
// once. Used by norms.
//
// The threads of one threadIdx.y hold a row. A narrow row uses some lanes of a
// warp, and a block holds several rows; a wide row uses the whole block.

#ifndef RECIPERUN_KERNELS_COMMON_ROWSLICES_CUH
#define RECIPERUN_KERNELS_COMMON_ROWSLICES_CUH

#include "runtime/kernels/common/CudaTypes.cuh"
#include "runtime/sizes/KernelLimits.h"

#include <bit>
#include <string>

namespace reciperun::kernels {

/// A thread's slice of a row: vector v holds the elements from column(v) on.
/// `whole`: a row consists of whole, aligned vectors.
template <class T, int vectors, bool whole> struct RowPart {
  static constexpr int n = vectorLength<T>;
  Vector<T, n> parts[vectors];

  __device__ static int column(int v) {
    return (v * int(blockDim.x) + int(threadIdx.x)) * n;
  }

  /// Loads the slice, with zeros beyond the end of the row.
  __device__ void load(const T* row, int width) {
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      parts[v] = {};
      if constexpr (whole) {
        if (column(v) < width)
          parts[v] = Vector<T, n>::load(row + column(v));
      } else {
#pragma unroll
        for (int e = 0; e < n; ++e)
          if (column(v) + e < width)
            parts[v].elements[e] = row[column(v) + e];
      }
    }
  }

  /// row[column(v) + e] = values[e] for elements inside the row.
  __device__ static void store(T* row, int width, int v,
                               const float (&values)[n]) {
    if constexpr (whole) {
      if (column(v) < width)
        rounded<T, n>(values).store(row + column(v));
    } else {
#pragma unroll
      for (int e = 0; e < n; ++e)
        if (column(v) + e < width)
          row[column(v) + e] = rounded<T>(values[e]);
    }
  }
};

/// The shape of the thread blocks of a kernel over rows.
struct RowBlock {
  dim3 threads; // x: threads of a row, y: rows of a block
  int vectors;
  bool whole;

  int64_t blocks(int64_t rows) const { return ceilDivide(rows, threads.y); }
};

namespace rows {

// With up to 512 threads, a thread has enough registers for two vectors.
inline constexpr int usualThreads = 512, mostThreads = 1024, mostVectors = 4;

/// The block for rows of `needed` vectors.
inline RowBlock blockOf(int64_t needed, bool whole) {
  constexpr int lanes = 32, blockThreads = 256;
  if (needed <= 2 * lanes) {
    const int vectors = needed > 8 ? 2 : 1;
    const unsigned threads =
        std::bit_ceil(unsigned(ceilDivide(needed, vectors)));
    return {dim3(threads, blockThreads / threads), vectors, whole};
  }
  const int vectors = needed <= usualThreads       ? 1
                      : needed <= 2 * usualThreads ? 2
                                                   : mostVectors;
  const int64_t threads = ceilDivide(needed, vectors * lanes) * lanes;
  return {dim3(unsigned(threads)), vectors, whole};
}

template <int number> struct Constant { static constexpr int value = number; };

} // namespace rows

/// Calls body(vectors, mostThreads, whole, block). The first three are
/// compile-time constants; `block` is the block for rows of `width` elements of
/// T. `aligned` says whether all rows start at multiples of 16 bytes if their
/// width allows it. Fails for rows that are too wide for a block.
template <class T, class Body>
Status withRowBlock(int64_t width, bool aligned, Body&& body) {
  using namespace rows;
  constexpr int64_t n = vectorLength<T>;
  constexpr int64_t widest = n * mostVectors * mostThreads;
  static_assert(widest * int64_t(sizeof(T)) == sizes::widestRow);
  if (width > widest)
    return Status::error("its rows have " + std::to_string(width) +
                         " elements, and on GPUs they have at most " +
                         std::to_string(widest));
  const RowBlock block =
      blockOf(ceilDivide(width, n), aligned && width % n == 0);
  using Usual = Constant<usualThreads>;
  if (!block.whole || block.threads.x > usualThreads) {
    // Rare shapes share one instance that fits all of them.
    RowBlock widestBlock = block;
    widestBlock.vectors = mostVectors;
    if (block.whole)
      body(Constant<mostVectors>(), Constant<mostThreads>(), Constant<true>(),
           widestBlock);
    else
      body(Constant<mostVectors>(), Constant<mostThreads>(), Constant<false>(),
           widestBlock);
  } else if (block.vectors == 1)
    body(Constant<1>(), Usual(), Constant<true>(), block);
  else if (block.vectors == 2)
    body(Constant<2>(), Usual(), Constant<true>(), block);
  else
    body(Constant<4>(), Usual(), Constant<true>(), block);
  return device::launchStatus();
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_ROWSLICES_CUH
