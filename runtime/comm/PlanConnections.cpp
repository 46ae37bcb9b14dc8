// See PlanConnections.h.

#include "runtime/comm/PlanConnections.h"

#include "runtime/comm/Blocks.h"
#include "runtime/ops/CollectiveOps.h"
#include "runtime/ops/OpTable.h"
#include "runtime/plan/Mesh.h"
#include "runtime/sizes/ConnectionWidths.h"

#include <algorithm>

namespace reciperun::comm {
namespace {

using plan::OpKind;

int64_t bytesOf(const plan::Stage& stage, int number) {
  if (number < 0)
    return 0;
  const plan::Buffer& buffer = stage.buffers[size_t(number)];
  return plan::elementCount(buffer.shape) * plan::byteSize(buffer.dtype);
}

/// The size of an op: all that a shift sends, or the largest operand or result
/// of another collective.
int64_t sizeOf(const plan::Stage& stage, const plan::Op& op) {
  int64_t size = 0;
  if (op.kind == OpKind::RingShiftStart) {
    for (int sent : op.inputs)
      size += bytesOf(stage, sent);
    return size;
  }
  for (const auto* list : {&op.inputs, &op.outputs})
    for (int number : *list)
      size = std::max(size, bytesOf(stage, number));
  return size;
}

/// Whether the parts of an op's collective are contiguous, so that it needs no
/// packing.
bool movesRuns(const plan::Mesh& mesh, const plan::Stage& stage,
               const plan::Op& op) {
  const plan::Buffer& in = stage.buffers[size_t(op.inputs[0])];
  if (op.kind == OpKind::AllGather || op.kind == OpKind::ReduceScatter)
    return Blocks::of(in.shape,
                      int(ops::AllGatherAttributes(op.attributes).dim), 1, 1)
        .contiguous();
  if (op.kind != OpKind::AllToAll)
    return false;
  const ops::AllToAllAttributes attributes(op.attributes);
  const ShardExchange exchange{int(attributes.split), int(attributes.concat)};
  const int ranks = plan::groupSize(mesh, mesh.groups[size_t(op.group)]);
  return exchange.endsOf(in.shape, ranks, plan::byteSize(in.dtype))
      .contiguous();
}

void add(PlanConnections& connections, const plan::Mesh& mesh,
         const plan::Stage& stage, const plan::Op& op) {
  if (op.group < 0 || ops::traitsOf(op.kind).finishes)
    return;
  const bool isOfAll = op.kind == OpKind::AllToAll;
  const bool isOfRuns = movesRuns(mesh, stage, op);
  auto& groups = ops::traitsOf(op.kind).runsBesideKernels
                     ? connections.background
                 : isOfRuns ? connections.barriers
                            : connections.groups;
  join(groups[op.group],
       {sizeOf(stage, op), isOfAll || op.kind == OpKind::ReduceScatterStart});
  connections.packs |=
      isOfAll ? !isOfRuns : ops::AllGatherAttributes(op.attributes).dim > 0;
}

/// Keeps barriers only in extents whose ranks map each other's memory anyway,
/// for an all-to-all or for transfers that overlap with kernels.
void keepPeerBarriers(PlanConnections& connections, const plan::Mesh& mesh) {
  const auto background = usesByExtent(mesh, connections.background);
  const auto barriers = usesByExtent(mesh, connections.barriers);
  std::erase_if(connections.barriers, [&](const auto& each) {
    const auto& [number, use] = each;
    const Extent extent = extentOf(mesh, mesh.groups[size_t(number)]);
    const bool isKept =
        background.contains(extent) || barriers.at(extent).isExchange;
    if (!isKept)
      join(connections.groups[number], use);
    return !isKept;
  });
}

void add(PlanConnections& connections, const plan::Mesh& mesh,
         const plan::Stage& stage, int number) {
  for (const plan::Function& function : stage.functions)
    for (const plan::Op& op : function.ops)
      add(connections, mesh, stage, op);
  // A dump of gradients gathers them among the ranks that share a region.
  for (const plan::Region& region : stage.regions)
    if (int group = plan::groupIndex(mesh, region.shardAxis); group >= 0)
      connections.groups.try_emplace(group);
  for (const plan::Transfer& transfer : stage.transfers)
    if (transfer.kind == plan::Transfer::Kind::send)
      connections.links.insert({transfer.link, number, transfer.peer});
}

/// The largest number of members on one host.
int mostOnAHost(const std::vector<int>& members, int ranksOnHost) {
  std::map<int, int> counts;
  int most = 0;
  for (int rank : members)
    most = std::max(most, ++counts[rank / ranksOnHost]);
  return most;
}

} // namespace

void join(GroupUse& use, const GroupUse& other) {
  use.bytes = std::max(use.bytes, other.bytes);
  use.isExchange |= other.isExchange;
}

PlanConnections connectionsOf(const plan::Plan& plan) {
  PlanConnections connections;
  for (size_t stage = 0; stage < plan.stages.size(); ++stage)
    add(connections, plan.mesh, plan.stages[stage], int(stage));
  keepPeerBarriers(connections, plan.mesh);
  return connections;
}

Extent extentOf(const plan::Mesh& mesh, const plan::Group& group) {
  Extent extent{{}, group.stages};
  for (const std::string& axis : group.axes)
    if (plan::axisSize(mesh, axis) > 1)
      extent.first.push_back(axis);
  return extent;
}

Extent extentOfAll(const plan::Mesh& mesh) {
  plan::Group all;
  for (const plan::Axis& axis : mesh.axes)
    all.axes.push_back(axis.name);
  return extentOf(mesh, all);
}

std::map<Extent, GroupUse> usesByExtent(const plan::Mesh& mesh,
                                        const std::map<int, GroupUse>& groups) {
  std::map<Extent, GroupUse> uses;
  for (const auto& [number, use] : groups)
    join(uses[extentOf(mesh, mesh.groups[size_t(number)])], use);
  return uses;
}

int streamsOf(const plan::Mesh& mesh, const PlanConnections& connections) {
  const size_t groups = usesByExtent(mesh, connections.groups).size();
  const size_t background = usesByExtent(mesh, connections.background).size();
  const size_t links = connections.links.size();
  const size_t communicators = 1 + groups + background + links;
  return int((background ? 1 + background : 0) + links + 2 * communicators);
}

int blocksFor(const GroupUse& use, const std::vector<int>& members,
              int ranksOnHost) {
  return sizes::blocksOfGroup(use.bytes, mostOnAHost(members, ranksOnHost),
                              int64_t(members.size()), use.isExchange);
}

} // namespace reciperun::comm
