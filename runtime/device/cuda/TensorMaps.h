// Matrices in device memory as Hopper's copy engine reads them: box by box, to
// shared memory, with zeros for what lies outside.

#ifndef RECIPERUN_DEVICE_CUDA_TENSORMAPS_H
#define RECIPERUN_DEVICE_CUDA_TENSORMAPS_H

#include "runtime/base/Status.h"

#include <cstdint>

#include <cuda.h>

namespace reciperun::device {

/// Columns of a box of bf16: 128 bytes, within which the 16-byte chunks of row
/// r of a box are exchanged by r % 8.
inline constexpr int boxColumns = 64;

/// Matrices [count, rows, columns] of bf16, read in boxes of `boxRows` rows, at
/// most 256, and boxColumns columns of one matrix. `data` and rows are aligned
/// to 16 bytes. A map is part of a kernel's arguments; no device is asked.
Expected<CUtensorMap> mapMatrices(const void* data, int64_t count, int64_t rows,
                                  int64_t columns, int boxRows);

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_TENSORMAPS_H
