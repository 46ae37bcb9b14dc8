// y [..., m] = x [..., begin to begin + m] and its transpose on a GPU.

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/RowCopies.cuh"
#include "runtime/ops/MoveOps.h"

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;

/// Sizes in bytes of the rows of `wide`, and of the slice of each row in
/// `part`.
struct RowBytes {
  RowBytes(const CudaKernelArgs& args, const Tensor& wide, const Tensor& part)
      : rows(part.elements() / part.shape.back()), whole(wide.bytes() / rows),
        run(part.bytes() / rows),
        start(ops::NarrowAttributes(args.op.attributes).begin *
              (run / part.shape.back())) {}

  int64_t rows, whole, run, start;
};

} // namespace

Status narrowCudaKernel(const CudaKernelArgs& args) {
  const Tensor &x = args.inputs[0], &y = args.outputs[0];
  const RowBytes at(args, x, y);
  return copyRows(args, {y.as<std::byte>(), at.rows, at.run, at.run, 0, at.run},
                  EvenRows{x.as<std::byte>() + at.start, at.whole});
}

Status padCudaKernel(const CudaKernelArgs& args) {
  const Tensor &x = args.inputs[0], &y = args.outputs[0];
  const RowBytes at(args, y, x);
  return copyRows(
      args, {y.as<std::byte>(), at.rows, at.whole, at.whole, at.start, at.run},
      EvenRows{x.as<std::byte>(), at.run});
}

} // namespace reciperun::kernels
