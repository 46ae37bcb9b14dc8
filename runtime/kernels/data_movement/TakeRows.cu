// Rows of a step's tokens, on a GPU.

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/RowCopies.cuh"

#include <cstdio>

namespace reciperun::kernels {
namespace {

/// The rows that indices name; none for index -1. An index beyond the last row,
/// which the CPU rejects, ends the work on the GPU.
struct IndexedRows {
  const std::byte* from;
  int64_t bytes, count;
  const int32_t* indices;

  __device__ const std::byte* operator()(int64_t row) const {
    const int index = indices[row];
    if (index >= count) {
      printf("take_rows: row %d lies outside of %lld rows\n", index,
             static_cast<long long>(count));
      __trap();
    }
    return index < 0 ? nullptr : from + index * bytes;
  }
  /// See EvenRows.
  int64_t alignment() const {
    return int64_t(reinterpret_cast<uintptr_t>(from)) | bytes;
  }
};

} // namespace

Status takeRowsCudaKernel(const device::CudaKernelArgs& args) {
  const device::Tensor &x = args.inputs[0], &y = args.outputs[0];
  const int64_t taken = y.shape[1];
  if (taken == 0)
    return Status::ok();
  const int64_t bytes = y.bytes() / taken;
  return copyRows(args, {y.as<std::byte>(), taken, bytes, bytes, 0, bytes},
                  IndexedRows{x.as<std::byte>(), bytes, x.shape[1],
                              args.inputs[1].as<int32_t>()});
}

} // namespace reciperun::kernels
