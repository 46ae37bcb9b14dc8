// A replay of each function's ops, then of the schedules of all stages.

#include "compiler/cost/Roofline.h"

#include "compiler/cost/Device.h"
#include "compiler/cost/Flops.h"
#include "compiler/cost/Timeline.h"
#include "compiler/cost/Traffic.h"
#include "runtime/ops/MoveOps.h"
#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <map>
#include <string>

namespace recipec::cost {
namespace {

/// Seconds of a ring collective (Thakur et al. 2005) over the group.
double collectiveSeconds(const ir::Module& program, const ir::Op& op,
                         const Device& device) {
  if (op.kind == ir::OpKind::RingShiftStart)
    return shiftedBytes(program, op) / device.linkBandwidth;
  double ranks = double(ir::sizeOf(program, op.group));
  double whole = double(std::max(ir::localBytes(program, op.operands[0]),
                                 ir::localBytes(program, op.results[0])));
  // The buffers of expert rows have the capacity for all rows that the group
  // can send. On average, one rank's share of them holds tokens.
  if (op.kind == ir::OpKind::AllToAll && op.operands[1] != ir::ValueId::none)
    whole /= ranks;
  double rounds = op.kind == ir::OpKind::AllReduce ? 2 : 1;
  return rounds * (ranks - 1) / ranks * whole / device.linkBandwidth;
}

double secondsOf(const ir::Module& program, const ir::Op& op,
                 const Device& device) {
  if (op.kind == ir::OpKind::View || op.attributes.flag("nothing"))
    return 0;
  if (ops::traitsOf(op.kind).isCollective)
    return collectiveSeconds(program, op, device);
  return std::max(localFlops(program, op) / device.flopsFor(op),
                  trafficBytes(program, op) / device.bandwidth);
}

/// The seconds of a run. Collectives that have started run one after another on
/// the link and overlap the other ops until their done op. Copies between
/// device and host use a link of their own.
double runSeconds(const ir::Module& stage, const ir::Function& function,
                  const Device& device) {
  double seconds = 0, link = 0, hostLink = 0;
  std::map<ir::ValueId, double> arrivals;
  for (const ir::Op& op : function.ops) {
    const ops::Traits& traits = ops::traitsOf(op.kind);
    if (traits.isCollective && traits.starts) {
      link = std::max(link, seconds) + secondsOf(stage, op, device);
      arrivals[op.results[0]] = link;
    } else if (traits.isCollective && traits.finishes) {
      seconds = std::max(seconds, arrivals.at(op.operands[0]));
    } else if (op.kind == ir::OpKind::CopyBegin) {
      hostLink =
          std::max(hostLink, seconds) +
          double(ir::localBytes(stage, op.results[0])) / device.hostBandwidth;
      arrivals[op.results[0]] = hostLink;
    } else if (op.kind == ir::OpKind::CopyEnd) {
      seconds = std::max(seconds, arrivals.at(op.results[0]));
    } else {
      seconds += secondsOf(stage, op, device);
    }
  }
  return seconds;
}

} // namespace

std::function<double(const ir::Op&)> opSeconds(const ir::Module& program,
                                               const recipe::Recipe& recipe) {
  return [&program, device = deviceOf(program, recipe)](const ir::Op& op) {
    return secondsOf(program, op, device);
  };
}

double leastStepSeconds(const std::vector<ir::Module>& stages,
                        const recipe::Recipe& recipe) {
  const Device device = deviceOf(stages[0], recipe);
  std::vector<std::map<std::string, double>> seconds(stages.size());
  for (size_t i = 0; i < stages.size(); ++i)
    for (const ir::Function& function : stages[i].functions)
      seconds[i][function.name] = runSeconds(stages[i], function, device);
  return simulate(
             stages, "train",
             [&](int stage, const ir::Function& function) {
               return seconds[size_t(stage)].at(function.name);
             },
             [&](int stage, const ir::Transfer& transfer) {
               return double(ir::localBytes(stages[size_t(stage)],
                                            transfer.value)) /
                      device.linkBandwidth;
             })
      .end;
}

} // namespace recipec::cost
