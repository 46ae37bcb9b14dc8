// Sums the experts' outputs for each token, and the gradient, on a GPU; see
// Combine.cpp.

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/moe/ExpertRows.cuh"

namespace reciperun::kernels {

using device::CudaKernelArgs;
using device::Tensor;

Status combineCudaKernel(const CudaKernelArgs& args) {
  const Tensor &y = args.inputs[0], &gates = args.inputs[2],
               &out = args.outputs[0];
  const ExpertRowsOnGpu rows(args.inputs[1], out, y);
  return withDeviceType(args, y.type, [&]<class T>(DeviceType<T>) {
    gatherFromExperts(args, rows, y.as<T>(), gates.as<float>(), out.as<T>());
  });
}

Status combineBackwardCudaKernel(const CudaKernelArgs& args) {
  const Tensor &dout = args.inputs[0], &y = args.inputs[2],
               &gates = args.inputs[3];
  const Tensor &dy = args.outputs[0], &dgates = args.outputs[1];
  const ExpertRowsOnGpu rows(args.inputs[1], dout, dy);
  Scratch scratch(args.context);
  auto* choiceOf = scratch.take<int32_t>(rows.count);
  if (scratch.leftBytes() < 0)
    return tooManyExpertRows(rows.count);
  return withDeviceType(args, dout.type, [&]<class T>(DeviceType<T>) {
    if (dgates.present())
      gradientOfGates(args, rows, dout.as<T>(), y.as<T>(), dgates.as<float>());
    invertRows(args, rows, choiceOf);
    scatterToExperts(args, rows, choiceOf, dout.as<T>(), gates.as<float>(),
                     dy.as<T>());
  });
}

} // namespace reciperun::kernels
