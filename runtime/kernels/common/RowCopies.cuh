// Copies of rows on a GPU. A destination row is a run of bytes from a source
// row, padded with zeros. Used for slices and concatenations of rows and for
// table lookups.

#ifndef RECIPERUN_KERNELS_COMMON_ROWCOPIES_CUH
#define RECIPERUN_KERNELS_COMMON_ROWCOPIES_CUH

#include "runtime/kernels/common/RowTiles.cuh"

#include <cstddef>

namespace reciperun::kernels {

/// The layout of the destination rows, in bytes.
struct RowsToCopy {
  std::byte* to;
  int64_t rows;
  int64_t stride; // from one row to the next
  int64_t length; // bytes written from the start of a row
  int64_t start;  // offset of the run; zeros precede it
  int64_t run;    // zeros follow it
};

/// Source rows with a constant stride. Each row is used `repeat` times.
struct EvenRows {
  const std::byte* from;
  int64_t stride;
  int64_t repeat = 1;

  __device__ const std::byte* operator()(int64_t row) const {
    return from + (repeat == 1 ? row : row / repeat) * stride;
  }
  /// A value whose trailing zero bits give the alignment of all its addresses.
  int64_t alignment() const {
    return int64_t(reinterpret_cast<uintptr_t>(from)) | stride;
  }
};

namespace rows {

inline constexpr int copiesPerThread = 4;

template <class Unit, class Source>
__global__ void __launch_bounds__(RowTiles::blockThreads)
    copy(RowTiles tiles, RowsToCopy rows, Source source) {
  constexpr int64_t size = sizeof(Unit);
  const int64_t at = tiles.column() * size;
  const bool isInRun = at >= rows.start && at < rows.start + rows.run;
  if (at >= rows.length)
    return;
  Unit units[copiesPerThread];
#pragma unroll
  for (int u = 0; u < copiesPerThread; ++u) {
    units[u] = {};
    if (tiles.row(u) < rows.rows && isInRun)
      if (const std::byte* from = source(tiles.row(u)))
        units[u] = *reinterpret_cast<const Unit*>(from + (at - rows.start));
  }
#pragma unroll
  for (int u = 0; u < copiesPerThread; ++u)
    if (tiles.row(u) < rows.rows)
      *reinterpret_cast<Unit*>(rows.to + tiles.row(u) * rows.stride + at) =
          units[u];
}

template <class Unit, class Source>
void launchCopy(const device::CudaKernelArgs& args, const RowsToCopy& rows,
                const Source& source) {
  const RowTiles tiles(rows.rows, rows.length / int64_t(sizeof(Unit)),
                       copiesPerThread);
  copy<Unit><<<tiles.blocks(), tiles.threads(), 0, args.context.stream()>>>(
      tiles, rows, source);
}

} // namespace rows

/// Row i of the destination gets the run at source(i), or zeros if source(i) is
/// null. Source and destination do not overlap.
template <class Source>
Status copyRows(const device::CudaKernelArgs& args, const RowsToCopy& rows,
                const Source& source) {
  if (rows.rows == 0 || rows.length == 0)
    return Status::ok();
  const int64_t all = int64_t(reinterpret_cast<uintptr_t>(rows.to)) |
                      rows.stride | rows.length | rows.start | rows.run |
                      source.alignment();
  if (all % 16 == 0)
    rows::launchCopy<uint4>(args, rows, source);
  else if (all % 8 == 0)
    rows::launchCopy<uint2>(args, rows, source);
  else if (all % 4 == 0)
    rows::launchCopy<uint32_t>(args, rows, source);
  else if (all % 2 == 0)
    rows::launchCopy<uint16_t>(args, rows, source);
  else
    rows::launchCopy<uint8_t>(args, rows, source);
  return device::launchStatus();
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_ROWCOPIES_CUH
