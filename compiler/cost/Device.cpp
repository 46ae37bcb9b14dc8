// The figures of a device; see Device.h.

#include "compiler/cost/Device.h"

#include "compiler/cost/Flops.h"
#include "compiler/recipe/Task.h"

namespace recipec::cost {

double Device::flopsFor(const ir::Op& op) const {
  return isNarrowMatmul(op) ? narrowFlops : flops;
}

Device deviceOf(const ir::Module& program, const recipe::Recipe& recipe) {
  Device device;
  double single = recipe.real("cluster.hardware.flops_fp32");
  switch (program.compute) {
  case ir::DType::bf16:
    device.flops = recipe.real("cluster.hardware.flops_bf16");
    break;
  case ir::DType::f64:
    device.flops = single / 2; // half as many lanes per vector
    break;
  default:
    device.flops = single;
  }
  // A server multiplies in fp8 where its weights are.
  if (recipe.string("precision.compute") == "fp8" || recipe::serves(recipe))
    device.narrowFlops = recipe.real("cluster.hardware.flops_fp8");
  device.bandwidth = recipe.real("cluster.hardware.bandwidth");
  device.linkBandwidth = recipe.real("cluster.hardware.link_bandwidth");
  device.hostBandwidth = recipe.real("cluster.hardware.host_bandwidth");
  return device;
}

} // namespace recipec::cost
