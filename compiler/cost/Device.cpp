// The figures of a device; see Device.h.

#include "compiler/cost/Device.h"

namespace recipec::cost {

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
  if (recipe.string("precision.compute") == "fp8")
    device.narrowFlops = recipe.real("cluster.hardware.flops_fp8");
  device.bandwidth = recipe.real("cluster.hardware.bandwidth");
  device.linkBandwidth = recipe.real("cluster.hardware.link_bandwidth");
  device.hostBandwidth = recipe.real("cluster.hardware.host_bandwidth");
  return device;
}

} // namespace recipec::cost
