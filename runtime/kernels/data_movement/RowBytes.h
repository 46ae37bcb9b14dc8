// The memory of a slice of one dimension, for `narrow` and `pad`: the dimension
// and those behind it form rows, and the slice is a run of bytes of each row.

#ifndef RECIPERUN_KERNELS_DATA_MOVEMENT_ROWBYTES_H
#define RECIPERUN_KERNELS_DATA_MOVEMENT_ROWBYTES_H

#include "runtime/device/Tensor.h"
#include "runtime/ops/MoveOps.h"

#include <cstddef>
#include <cstdint>

namespace reciperun::kernels {

/// Sizes in bytes of the rows of `wide` [..., n, behind...], and of the run in
/// each row that `part` [..., m, behind...] holds.
struct RowBytes {
  RowBytes(const ops::Attributes& given, const device::Tensor& wide,
           const device::Tensor& part) {
    const ops::NarrowAttributes attributes(given);
    const size_t behind = size_t(attributes.behind);
    int64_t element = plan::byteSize(wide.type); // of the sliced dimension
    for (int64_t size : wide.shape.last(behind))
      element *= size;
    whole = element * wide.shape[wide.shape.size() - 1 - behind];
    rows = wide.bytes() / whole;
    run = part.bytes() / rows;
    start = element * attributes.begin;
  }

  int64_t rows, whole, run, start;
};

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_DATA_MOVEMENT_ROWBYTES_H
