// The sustained figures of `cluster.hardware`, and how far a training step on
// an H200 stays below them: measured on H200s (docs/performance.md, "The gap to
// the targets").

#include "compiler/cost/Machine.h"

#include "compiler/cost/Device.h"

#include <algorithm>
#include <string>

namespace recipec::cost {
namespace {

// The fractions of its data sheet that an H200 sustains: 689 of 989 and 1,325
// of 1,979 TFLOP/s, 4.255 of 4.8 TB/s, 355 of 450 GB/s.
constexpr double sustainedMatmul = 0.70;
constexpr double sustainedNarrow = 0.67;
constexpr double sustainedMemory = 0.886;
constexpr double sustainedLink = 0.79;

// The fractions of the sustained figures that a step of matmuls alone reaches.
// Both are those of a device at its power limit, which lowers the clock of an
// H200 from 1,980 to some 1,430 MHz.
constexpr double bf16InAStep = 0.98;
constexpr double fp8InAStep = 0.905;
constexpr double highestClock = 1980.0 / 1430.0;

/// The fraction of the copy bandwidth that norms, activations and the optimizer
/// reach.
constexpr double memoryBound = 0.95;

/// Seconds between two kernels of a CUDA graph.
constexpr double gap = 1.5e-6;

// The ratio of an H100's multiprocessors, each of which computes 16
// exponentials per clock, to the FLOP/s of its bf16 matmuls.
constexpr double exponentialsOfH100 = 132 / 989e12;

/// The fraction of a network adapter's bandwidth that protocols leave.
constexpr double networkShare = 0.9;

double orShare(const recipe::Recipe& recipe, const std::string& field,
               double whole, double share) {
  const recipe::Value& value = recipe.at("cluster.hardware." + field);
  return value.isNone() ? whole * share
                        : recipe.real("cluster.hardware." + field);
}

} // namespace

Machine machineOf(const ir::Module& program, const recipe::Recipe& recipe) {
  const Device device = deviceOf(program, recipe);
  Machine machine;
  machine.isGpu = recipe.string("cluster.hardware.kind") == "cuda";
  machine.host = device.hostBandwidth;
  machine.link = {device.linkBandwidth,
                  recipe.real("cluster.hardware.link_latency")};
  machine.linkRanks =
      std::max<int64_t>(1, recipe.integer("cluster.hardware.link_ranks"));
  machine.network = machine.link;
  if (!recipe.at("cluster.hardware.network").isNone())
    machine.network = {recipe.real("cluster.hardware.network.bandwidth") *
                           networkShare,
                       recipe.real("cluster.hardware.network.latency")};
  machine.matmul = device.flops;
  machine.narrowMatmul = device.narrowFlops;
  machine.bandwidth = device.bandwidth;
  if (!machine.isGpu)
    return machine;
  const double bf16 = recipe.real("cluster.hardware.flops_bf16");
  machine.matmul =
      program.compute == ir::DType::bf16
          ? orShare(recipe, "sustained_bf16", device.flops, sustainedMatmul) *
                bf16InAStep
          : device.flops * sustainedMatmul * bf16InAStep;
  machine.narrowMatmul =
      orShare(recipe, "sustained_fp8", device.narrowFlops, sustainedNarrow) *
      fp8InAStep;
  machine.bandwidth = orShare(recipe, "sustained_bandwidth", device.bandwidth,
                              sustainedMemory) *
                      memoryBound;
  machine.link.bandwidth =
      orShare(recipe, "sustained_link", device.linkBandwidth, sustainedLink);
  machine.multiprocessors =
      double(recipe.integer("cluster.hardware.multiprocessors"));
  machine.exponentials = machine.multiprocessors / bf16 / exponentialsOfH100;
  machine.launch = gap;
  machine.mostBoost = highestClock;
  return machine;
}

} // namespace recipec::cost
