// This rank's shard of a tensor along dimension `dim`, at the rank's coordinate
// on `axis`. The transpose of the op is an all-gather.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/ops/CollectiveOps.h"

#include <cassert>
#include <cstddef>
#include <cstring>

namespace reciperun::kernels {

Status sliceKernel(const device::KernelArgs& args) {
  const device::Tensor &x = args.inputs[0], &y = args.outputs[0];
  const size_t dim = size_t(ops::SliceAttributes(args.op.attributes).dim);
  assert(dim < y.shape.size() && x.shape.size() == y.shape.size() &&
         "a slice cuts one of the dimensions");
  int64_t outer = 1;
  for (size_t i = 0; i < dim; ++i)
    outer *= y.shape[i];
  // Bytes that are contiguous in both tensors: the shard's part of the
  // dimension and all later dimensions.
  const int64_t run = y.bytes() / outer;
  const int64_t whole = x.bytes() / outer;
  const int64_t start =
      args.coordinate(ops::SliceAttributes(args.op.attributes).axis) * run;
  assert(start + run <= whole && "a shard lies inside the whole");
  device::parallelFor(
      args.context.threads(), outer, 16, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          std::memcpy(y.as<std::byte>() + i * run,
                      x.as<std::byte>() + i * whole + start, size_t(run));
      });
  return Status::ok();
}

} // namespace reciperun::kernels
