// The gradient of combine's gates from the rows of experts, on a GPU; see
// GatesBackward.cpp.

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/moe/ExpertRows.cuh"

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;

/// One warp per row.
template <class T, int n>
__global__ void __launch_bounds__(32 * experts::gateWarps)
    multiplyRows(int64_t rows, int64_t width, const T* a, const T* b,
                 float* dots) {
  const int64_t row = int64_t(blockIdx.x) * experts::gateWarps + threadIdx.y;
  if (row >= rows)
    return;
  const float product =
      experts::dotOfRows<T, n>(a + row * width, b + row * width, width);
  if (threadIdx.x == 0)
    dots[row] = product;
}

__global__ void __launch_bounds__(256)
    divideByGates(ExpertRowsOnGpu experts, const float* dots,
                  const float* gates, float* dgates) {
  const int64_t choice = int64_t(blockIdx.x) * 256 + threadIdx.x;
  if (choice >= experts.tokens * experts.choices)
    return;
  const int64_t row = experts.rowOf(choice);
  const float gate = gates[choice];
  dgates[choice] = row < 0 || gate == 0 ? 0.0f : dots[row] / gate;
}

} // namespace

Status rowDotsCudaKernel(const CudaKernelArgs& args) {
  const Tensor &a = args.inputs[0], &b = args.inputs[1],
               &dots = args.outputs[0];
  const int64_t rows = dots.elements(), width = a.elements() / rows;
  const auto blocks = unsigned(ceilDivide(rows, experts::gateWarps));
  return withDeviceType(args, a.type, [&]<class T>(DeviceType<T>) {
    experts::withVectors<
        T>(width, areAligned(16, a.as<T>(), b.as<T>()), [&](auto n) {
      multiplyRows<T, n.value>
          <<<blocks, dim3(32, experts::gateWarps), 0, args.context.stream()>>>(
              rows, width, a.as<T>(), b.as<T>(), dots.as<float>());
    });
  });
}

Status gatesBackwardCudaKernel(const CudaKernelArgs& args) {
  const Tensor &dots = args.inputs[0], &gates = args.inputs[2];
  const ExpertRowsOnGpu rows(args.inputs[1], dots, dots);
  const auto blocks = unsigned(ceilDivide(gates.elements(), 256));
  divideByGates<<<blocks, 256, 0, args.context.stream()>>>(
      rows, dots.as<float>(), gates.as<float>(), args.outputs[0].as<float>());
  return device::launchStatus();
}

} // namespace reciperun::kernels
