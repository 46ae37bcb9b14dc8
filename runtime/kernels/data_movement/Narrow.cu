// y [..., m, ...] = x [..., begin to begin + m, ...] and its transpose on a
// GPU.

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/RowCopies.cuh"
#include "runtime/kernels/data_movement/RowBytes.h"

namespace reciperun::kernels {

using device::CudaKernelArgs;
using device::Tensor;

Status narrowCudaKernel(const CudaKernelArgs& args) {
  const Tensor &x = args.inputs[0], &y = args.outputs[0];
  const RowBytes at(args.op.attributes, x, y);
  return copyRows(args, {y.as<std::byte>(), at.rows, at.run, at.run, 0, at.run},
                  EvenRows{x.as<std::byte>() + at.start, at.whole});
}

Status padCudaKernel(const CudaKernelArgs& args) {
  const Tensor &x = args.inputs[0], &y = args.outputs[0];
  const RowBytes at(args.op.attributes, y, x);
  return copyRows(
      args, {y.as<std::byte>(), at.rows, at.whole, at.whole, at.start, at.run},
      EvenRows{x.as<std::byte>(), at.run});
}

} // namespace reciperun::kernels
