// Updates the bias that a router adds to choose experts: up for an expert with
// fewer tokens than the mean, down for one with more (Wang et al. 2024,
// "Auxiliary-Loss-Free Load Balancing Strategy for Mixture-of-Experts",
// algorithm 1).

#include "runtime/kernels/common/Kernels.h"

#include "runtime/ops/ExpertOps.h"

namespace reciperun::kernels {

Status balanceExpertsKernel(const device::KernelArgs& args) {
  const double* load = args.inputs[0].as<double>();
  float* bias = args.outputs[0].as<float>();
  const int64_t experts = args.outputs[0].elements();
  double all = 0;
  for (int64_t e = 0; e < experts; ++e)
    all += load[e];
  const float rate =
      float(ops::BalanceExpertsAttributes(args.op.attributes).rate);
  for (int64_t e = 0; e < experts; ++e) {
    // Loads are integers, so the product with `experts` compares without
    // rounding.
    const double missing = all - load[e] * double(experts);
    bias[e] += missing > 0 ? rate : missing < 0 ? -rate : 0;
  }
  return Status::ok();
}

} // namespace reciperun::kernels
