// Matrices in device memory as Hopper's tensor memory accelerator (TMA) reads
// them: box by box, to shared memory, with zeros outside the matrix.

#ifndef RECIPERUN_DEVICE_CUDA_TENSORMAPS_H
#define RECIPERUN_DEVICE_CUDA_TENSORMAPS_H

#include "runtime/base/Status.h"

#include <cstdint>

#include <cuda.h>

namespace reciperun::device {

/// Columns of a bf16 box: 128 bytes, within which the 16-byte chunks of row r
/// are swizzled by r % 8.
inline constexpr int boxColumns = 64;

/// Maps matrices [count, rows, columns] of bf16, read in boxes of one matrix
/// with `boxRows` rows, at most 256, and boxColumns columns. `data` and rows
/// are aligned to 16 bytes. The map is a kernel argument; making one needs no
/// device.
Expected<CUtensorMap> mapMatrices(const void* data, int64_t count, int64_t rows,
                                  int64_t columns, int boxRows);

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_TENSORMAPS_H
