// A domain is a block of `link_ranks` consecutive ranks. A group has the same
// number of ranks in each domain wherever its first rank is, because axes
// divide domains or domains divide axes.

#include "compiler/cost/Collectives.h"

#include "compiler/cost/Traffic.h"
#include "runtime/ops/OpKind.h"
#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <cmath>

namespace recipec::cost {
namespace {

using ir::OpKind;
using ir::ValueId;

/// The fraction of the links' bandwidth that an all-to-all of expert rows
/// reaches: with ep 4, `communication` is 16 % of a step (docs/performance.md).
constexpr double exchangeShare = 0.5;

} // namespace

int64_t rankCount(const ir::Module& program) {
  int64_t ranks = 1;
  for (const ir::Axis& axis : program.axes)
    ranks *= axis.size;
  return ranks;
}

GroupSpan spanOf(const ir::Module& program, ir::AxisSet axes,
                 int64_t linkRanks) {
  GroupSpan span;
  int64_t stride = 1; // of the current axis, in ranks
  for (size_t i = program.axes.size(); i-- > 0;) {
    const int64_t size = program.axes[i].size;
    if (axes.contains(ir::AxisId(i))) {
      span.ranks *= size;
      span.local *= std::clamp<int64_t>(linkRanks / stride, 1, size);
    }
    stride *= size;
  }
  return span;
}

double ringSeconds(const Machine& machine, const GroupSpan& span,
                   double bytes) {
  if (span.ranks == 1)
    return 0;
  const double ranks = double(span.ranks), local = double(span.local);
  const double received = bytes * (ranks - 1) / ranks;
  const double near = span.local > 1 ? received / machine.link.bandwidth : 0;
  if (!span.isFar())
    return machine.launch + machine.link.latency + near;
  const double hops = ranks / local - 1;
  return machine.launch + machine.network.latency * std::log2(hops + 1) +
         std::max(near, received / local / machine.network.bandwidth);
}

double exchangeSeconds(const Machine& machine, const GroupSpan& span,
                       double bytes) {
  if (span.ranks == 1)
    return 0;
  const double ranks = double(span.ranks), local = double(span.local);
  const double near =
      bytes * (local - 1) / ranks / (machine.link.bandwidth * exchangeShare);
  if (!span.isFar())
    return machine.launch + machine.link.latency + near;
  const double far =
      bytes * (ranks - local) / ranks / machine.network.bandwidth;
  return machine.launch + machine.network.latency + std::max(near, far);
}

double messageSeconds(const Machine& machine, bool isFar, double bytes) {
  const Level& level = isFar ? machine.network : machine.link;
  return machine.launch + level.latency + bytes / level.bandwidth;
}

const GroupSpan& Collectives::span(ir::AxisSet axes) const {
  auto found = spans.find(axes.raw());
  if (found == spans.end())
    found = spans.emplace(axes.raw(), spanOf(program, axes, machine.linkRanks))
                .first;
  return found->second;
}

bool Collectives::isFar(const ir::Op& op) const {
  return span(op.group).isFar();
}

bool Collectives::isFar(int peer) const {
  const int64_t ofStage = rankCount(program) / program.stages;
  const int64_t first = program.stage * ofStage, other = peer * ofStage;
  for (int64_t i = 0; i < ofStage; ++i)
    if ((first + i) / machine.linkRanks != (other + i) / machine.linkRanks)
      return true;
  return false;
}

double Collectives::seconds(const ir::Op& op) const {
  const GroupSpan& group = span(op.group);
  if (op.kind == OpKind::RingShiftStart)
    return messageSeconds(machine, group.isFar(), shiftedBytes(program, op));
  const double whole = std::max(kernels.usedBytes(op.operands[0]),
                                kernels.usedBytes(op.results[0]));
  // Without counts, an all-to-all also sends the expert rows without tokens.
  if (op.kind == OpKind::AllToAll || op.kind == OpKind::AllToAllStart)
    return exchangeSeconds(machine, group,
                           op.kind == OpKind::AllToAllStart ||
                                   op.operands[1] == ValueId::none
                               ? double(ir::localBytes(program, op.operands[0]))
                               : whole);
  // The operand of a reduce-scatter has the size of the whole value.
  const double once = ringSeconds(machine, group, whole);
  return op.kind == OpKind::AllReduce ? 2 * once : once;
}

} // namespace recipec::cost
