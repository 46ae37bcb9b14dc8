// Updates the bias that a router adds to choose experts, on a GPU; see
// BalanceExperts.cpp.

#include "runtime/kernels/common/BlockSums.cuh"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/CudaTypes.cuh"
#include "runtime/ops/ExpertOps.h"

namespace reciperun::kernels {
namespace {

constexpr int threads = 256;

/// Runs in one block. Loads are integers, so the sum does not depend on the
/// order.
__global__ void __launch_bounds__(threads)
    balance(int experts, const double* load, float rate, float* bias) {
  __shared__ double room[32];
  double all[1] = {0};
  for (int e = int(threadIdx.x); e < experts; e += threads)
    all[0] += load[e];
  sumAcrossRow(all, room);
  for (int e = int(threadIdx.x); e < experts; e += threads) {
    // The product with `experts` compares without rounding.
    const double missing = all[0] - load[e] * double(experts);
    bias[e] += missing > 0 ? rate : missing < 0 ? -rate : 0;
  }
}

} // namespace

Status balanceExpertsCudaKernel(const device::CudaKernelArgs& args) {
  const device::Tensor& bias = args.outputs[0];
  balance<<<1, threads, 0, args.context.stream()>>>(
      int(bias.elements()), args.inputs[0].as<double>(),
      float(ops::BalanceExpertsAttributes(args.op.attributes).rate),
      bias.as<float>());
  return device::launchStatus();
}

} // namespace reciperun::kernels
