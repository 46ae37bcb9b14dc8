// This rank's shard of a tensor along a dimension, on a GPU.

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/RowCopies.cuh"
#include "runtime/ops/CollectiveOps.h"

namespace reciperun::kernels {

Status sliceCudaKernel(const device::CudaKernelArgs& args) {
  const device::Tensor &x = args.inputs[0], &y = args.outputs[0];
  const size_t dim = size_t(ops::SliceAttributes(args.op.attributes).dim);
  assert(dim < y.shape.size() && x.shape.size() == y.shape.size() &&
         "a slice cuts one of the dimensions");
  int64_t outer = 1;
  for (size_t i = 0; i < dim; ++i)
    outer *= y.shape[i];
  if (y.elements() == 0)
    return Status::ok();
  // Bytes that are contiguous in both tensors: the shard's part of the
  // dimension and all later dimensions.
  const int64_t run = y.bytes() / outer, whole = x.bytes() / outer;
  const int64_t start =
      args.coordinate(ops::SliceAttributes(args.op.attributes).axis) * run;
  assert(start + run <= whole && "a shard lies inside the whole");
  return copyRows(args, {y.as<std::byte>(), outer, run, run, 0, run},
                  EvenRows{x.as<std::byte>() + start, whole});
}

} // namespace reciperun::kernels
