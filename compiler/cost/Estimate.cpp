// Memory by category, and a roofline for the time (Williams et al. 2009).
//
// Each op of the schedule `train` takes the longer of its arithmetic at the
// device's peak and its traffic at the memory's bandwidth; a collective takes
// what a ring sends over the link. Ops follow one another: this version
// overlaps nothing. Real kernels stay below the roof, so the time is a bound
// that a good implementation approaches.

#include "compiler/cost/Estimate.h"

#include "compiler/cost/Flops.h"

#include <algorithm>
#include <map>

namespace recipec::cost {
namespace {

struct Device {
  double flops = 0;         // FLOP/s in the compute type
  double bandwidth = 0;     // bytes/s
  double linkBandwidth = 0; // bytes/s, one way
};

Device deviceOf(const ir::Module& program, const recipe::Recipe& recipe) {
  Device device;
  double single = recipe.real("cluster.hardware.flops_fp32");
  switch (program.compute) {
  case ir::DType::bf16:
    device.flops = recipe.real("cluster.hardware.flops_bf16");
    break;
  case ir::DType::f64:
    device.flops = single / 2; // half as many lanes a vector
    break;
  default:
    device.flops = single;
  }
  device.bandwidth = recipe.real("cluster.hardware.bandwidth");
  device.linkBandwidth = recipe.real("cluster.hardware.link_bandwidth");
  return device;
}

double trafficOf(const ir::Module& program, const ir::Op& op) {
  double bytes = 0;
  for (const auto* list : {&op.operands, &op.results})
    for (ir::ValueId value : *list)
      if (value != ir::ValueId::none)
        bytes += double(ir::localBytes(program, value));
  return bytes;
}

/// Seconds of a ring (Thakur et al. 2005) over the group.
double collectiveSeconds(const ir::Module& program, const ir::Op& op,
                         const Device& device) {
  double ranks = double(ir::sizeOf(program, op.group));
  double whole = double(std::max(ir::localBytes(program, op.operands[0]),
                                 ir::localBytes(program, op.results[0])));
  double rounds = op.kind == ir::OpKind::AllReduce ? 2 : 1;
  return rounds * (ranks - 1) / ranks * whole / device.linkBandwidth;
}

double secondsOf(const ir::Module& program, const ir::Op& op,
                 const Device& device) {
  if (ir::isCollective(op.kind))
    return collectiveSeconds(program, op, device);
  return std::max(localFlops(program, op) / device.flops,
                  trafficOf(program, op) / device.bandwidth);
}

/// What one run of a function costs.
struct FunctionCost {
  double flops = 0;
  double seconds = 0;
};

FunctionCost costOf(const ir::Module& program, const ir::Function& function,
                    const Device& device) {
  FunctionCost cost;
  for (const ir::Op& op : function.ops) {
    cost.flops += wholeFlops(program, op);
    cost.seconds += secondsOf(program, op, device);
  }
  return cost;
}

FunctionCost costOfTraining(const ir::Module& program, const Device& device) {
  FunctionCost total;
  std::map<std::string, FunctionCost> costs;
  for (const ir::Function& function : program.functions)
    costs[function.name] = costOf(program, function, device);
  for (const ir::Schedule& schedule : program.schedules) {
    if (schedule.name != "train")
      continue;
    for (const ir::Step& step : schedule.steps) {
      total.flops += costs[step.function].flops;
      total.seconds += costs[step.function].seconds;
    }
  }
  return total;
}

int64_t layerCount(const ir::Module& program) {
  int last = -1;
  for (const ir::Function& function : program.functions)
    for (const ir::Op& op : function.ops)
      last = std::max(last, op.layer);
  return last + 1;
}

int64_t rankCount(const ir::Module& program) {
  int64_t ranks = 1;
  for (const ir::Axis& axis : program.axes)
    ranks *= axis.size;
  return ranks;
}

} // namespace

MemoryTable memoryTable(const ir::Module& program,
                        const recipe::Recipe& recipe) {
  MemoryTable table;
  std::map<std::string, int64_t*> columns = {
      {"parameters", &table.parameters}, {"gradients", &table.gradients},
      {"optimizer", &table.optimizer},   {"activations", &table.activations},
      {"workspace", &table.workspace},
  };
  // Placements come by address and cover the arena: each byte belongs to the
  // category of the last placement that begins at or before it.
  for (size_t i = 0; i < program.placements.size(); ++i) {
    const ir::Placement& placement = program.placements[i];
    int64_t end = i + 1 < program.placements.size()
                      ? program.placements[i + 1].offset
                      : program.arenaBytes;
    *columns.at(placement.category) += end - placement.offset;
  }
  table.library = recipe.count("cluster.hardware.library");
  table.arena = program.arenaBytes;
  table.total = table.arena + table.library;
  table.capacity = recipe.count("cluster.hardware.memory");
  return table;
}

Estimate estimate(const ir::Module& program, const recipe::Recipe& recipe) {
  Estimate estimate;
  Device device = deviceOf(program, recipe);
  FunctionCost step = costOfTraining(program, device);
  estimate.memory = memoryTable(program, recipe);
  estimate.ranks = int(rankCount(program));
  estimate.layersPerChunk = {layerCount(program)};
  estimate.flopsPerStep = step.flops;
  estimate.peakFlops = device.flops;
  estimate.stepSeconds = step.seconds;
  if (step.seconds <= 0)
    return estimate;
  double tokens = double(recipe.integer("batch.global")) *
                  double(recipe.integer("data.sequence"));
  double ranks = double(estimate.ranks);
  estimate.tokensPerSecondPerRank = tokens / step.seconds / ranks;
  estimate.tflopsPerRank = step.flops / step.seconds / ranks / 1e12;
  estimate.mfu = step.flops / (step.seconds * ranks * device.flops);
  return estimate;
}

} // namespace recipec::cost
