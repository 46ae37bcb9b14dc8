// 1. Collect the traffic of each group of ranks over the ops of all stages, in
//    up to three entries a group: collectives that overlap kernels, collectives
//    in stream order whose parts are contiguous, and the other collectives in
//    stream order.
// 2. Contiguous collectives may run as kernels that read and write the other
//    ranks' memory. Keep their entry if the group is on one host and its ranks
//    map each other's memory anyway, for an exchange or for copies that overlap
//    kernels. Otherwise merge it into the entry of the other collectives in
//    stream order.
// 3. Choose the transport: copy engines and such kernels within a host, NCCL
//    elsewhere.
// 4. Choose the widths (multiprocessors for NCCL), and count the bytes
//    (ConnectionBytes.h).
//
// Groups of the same axes are one group. A host has `ranks_per_node`
// consecutive ranks.

#include "compiler/passes/distributed/Connect.h"

#include "compiler/passes/distributed/ConnectionBytes.h"
#include "runtime/ops/CollectiveOps.h"
#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

namespace recipec::passes {
namespace {

namespace sizes = reciperun::sizes;
using ir::AxisSet;
using ir::GroupConnection;
using ir::Module;
using ir::Op;
using ir::OpKind;
using ir::Traffic;
using ir::Transport;
using ir::ValueId;

// ---- the traffic of ops

/// The product of the dimensions before `dim`.
int64_t rowsBefore(const Module& module, ValueId value, int64_t dim) {
  const std::vector<int64_t> shape = ir::localShape(module, value);
  return std::accumulate(shape.begin(), shape.begin() + long(dim), int64_t(1),
                         std::multiplies<>());
}

/// Whether the parts that ranks exchange are contiguous.
bool movesRuns(const Module& module, const Op& op) {
  switch (op.kind) {
  case OpKind::AllGather:
  case OpKind::ReduceScatter:
    return rowsBefore(module, op.operands[0],
                      ops::AllGatherAttributes(op.attributes).dim) == 1;
  case OpKind::AllToAll: {
    const ops::AllToAllAttributes attributes(op.attributes);
    return rowsBefore(module, op.operands[0], attributes.split) == 1 &&
           rowsBefore(module, op.results[0], attributes.concat) == 1;
  }
  default:
    return false;
  }
}

/// Whether an op uses the packing buffers (sizes::packingBytes).
bool packs(const Module& module, const Op& op) {
  return op.kind == OpKind::AllToAll
             ? !movesRuns(module, op)
             : ops::AllGatherAttributes(op.attributes).dim > 0;
}

/// The bytes of an op on a rank: the sum of the operands that a shift sends, or
/// the largest operand or result of any other collective.
int64_t trafficBytes(const Module& module, const Op& op) {
  int64_t sum = 0, largest = 0;
  for (const auto* list : {&op.operands, &op.results})
    for (ValueId value : *list)
      if (value != ValueId::none) {
        const int64_t bytes = ir::localBytes(module, value);
        sum += list == &op.operands ? bytes : 0;
        largest = std::max(largest, bytes);
      }
  return ops::traitsOf(op.kind).shifts ? sum : largest;
}

Traffic trafficOf(const ops::Traits& traits) {
  return traits.shifts      ? Traffic::shift
         : traits.exchanges ? Traffic::exchange
                            : Traffic::collective;
}

/// What a connection of a group is for; a group has at most one for each.
enum class Purpose { inTurn, contiguous, overlapping };

Purpose purposeOf(const Module& module, const Op& op) {
  return ops::traitsOf(op.kind).runsBesideKernels ? Purpose::overlapping
         : movesRuns(module, op)                  ? Purpose::contiguous
                                                  : Purpose::inTurn;
}

/// A group of ranks by its axes, and by its stages when it does not span all.
struct Key {
  uint32_t axes = 0;
  std::vector<int> stages;
  Purpose purpose = Purpose::inTurn;
  auto operator<=>(const Key&) const = default;

  Key with(Purpose other) const { return {axes, stages, other}; }
};

/// What the ops of a group need.
struct Use {
  bool isUsed = false;
  std::set<Traffic> traffic;
  std::map<int, std::set<Traffic>> byStage;
  int64_t largest = 0;

  void join(const Use& other) {
    isUsed |= other.isUsed;
    traffic.insert(other.traffic.begin(), other.traffic.end());
    for (const auto& [stage, kinds] : other.byStage)
      byStage[stage].insert(kinds.begin(), kinds.end());
    largest = std::max(largest, other.largest);
  }
};

/// How the ranks of a group's instances are distributed over the hosts.
struct Spread {
  int64_t ranks = 0;      // of an instance
  int64_t neighbours = 0; // the most members of an instance on one host
  bool isOnOneHost = true;
};

class Connecting {
public:
  Connecting(const std::vector<Module>& stages, int64_t ranksPerNode)
      : stages(stages), mesh(stages.front()) {
    result.ranksPerNode = ranksPerNode;
    for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
      if (mesh.axes[axis].size > 1)
        all = all | AxisSet(ir::AxisId(axis));
  }

  bool hasSeveralRanks() const { return !all.empty(); }

  ir::Connections run() {
    uses[{all.raw(), {}}]; // NCCL splits it into the others
    for (const Module& module : stages)
      collect(module);
    mergeWhere([&](const Key& key, const Use& use) {
      return !use.traffic.contains(Traffic::exchange) &&
             !uses.contains(key.with(Purpose::overlapping));
    });
    mergeWhere([&](const Key& key, const Use&) {
      const Spread spread = spreadOf(key);
      return !spread.isOnOneHost || spread.ranks > sizes::mostPeers;
    });
    for (const auto& [key, use] : uses)
      result.groups.push_back(connectionOf(key, use));
    std::stable_partition(result.groups.begin(), result.groups.end(),
                          [&](const GroupConnection& group) {
                            return group.axes == all && group.stages.empty() &&
                                   !group.overlaps &&
                                   group.transport == Transport::nccl;
                          });
    addLinks();
    addCommonBytes();
    return std::move(result);
  }

private:
  // ---- 1. and 2.

  void collect(const Module& module) {
    for (const ir::Function& function : module.functions)
      for (const Op& op : function.ops)
        if (ops::traitsOf(op.kind).isCollective &&
            !ops::traitsOf(op.kind).finishes && !(op.group & all).empty())
          add(module, op);
    // Dumped gradients are gathered among the ranks that share a region.
    for (const ir::Region& region : module.regions)
      if (!(region.shard & all).empty())
        uses[{(region.shard & all).raw(), {}}].isUsed = true;
  }

  void add(const Module& module, const Op& op) {
    Key key{(op.group & all).raw(), {}, purposeOf(module, op)};
    for (const std::string& stage :
         ops::AllReduceAttributes(op.attributes).stages)
      key.stages.push_back(std::stoi(stage));
    const Traffic traffic = trafficOf(ops::traitsOf(op.kind));
    uses[key].join({true,
                    {traffic},
                    {{module.stage, {traffic}}},
                    trafficBytes(module, op)});
    result.packs |= packs(module, op);
  }

  /// Merges contiguous collectives into those in stream order where NCCL serves
  /// them.
  template <class Predicate> void mergeWhere(const Predicate& isServedByNccl) {
    std::map<Key, Use> merged;
    for (const auto& [key, use] : uses)
      merged[key.purpose == Purpose::contiguous && isServedByNccl(key, use)
                 ? key.with(Purpose::inTurn)
                 : key]
          .join(use);
    uses = std::move(merged);
  }

  // ---- 3. and 4.

  GroupConnection connectionOf(const Key& key, const Use& use) const {
    const Spread spread = spreadOf(key);
    GroupConnection made;
    made.overlaps = key.purpose == Purpose::overlapping;
    made.transport = key.purpose == Purpose::contiguous ? Transport::peerKernels
                     : made.overlaps && spread.isOnOneHost
                         ? Transport::peerCopies
                         : Transport::nccl;
    made.axes = AxisSet::fromBits(key.axes);
    made.stages = key.stages;
    made.isUsed = use.isUsed;
    made.traffic.assign(use.traffic.begin(), use.traffic.end());
    made.largest = use.largest;
    made.width =
        sizes::blocksOfGroup(use.largest, spread.neighbours, spread.ranks,
                             use.traffic.contains(Traffic::exchange));
    for (const Module& module : stages)
      made.bytes.push_back(bytesOf(made, use, spread, module.stage));
    return made;
  }

  static int64_t bytesOf(const GroupConnection& group, const Use& use,
                         const Spread& spread, int stage) {
    const std::vector<int>& members = group.stages;
    const bool isMember =
        members.empty() || std::ranges::find(members, stage) != members.end();
    if (group.transport != Transport::nccl || !isMember)
      return 0;
    const auto found = use.byStage.find(stage);
    const std::set<Traffic> traffic =
        found == use.byStage.end() ? std::set<Traffic>() : found->second;
    const int64_t blocks = blocksOf(group.width);
    const int64_t others = spread.neighbours - 1;
    const int64_t peers = traffic.contains(Traffic::exchange) ? others
                          : traffic.contains(Traffic::shift)
                              ? std::min<int64_t>(others, 1)
                              : 0;
    return madeBytes(blocks) +
           (traffic.contains(Traffic::collective) ? neighboursBytes(blocks)
                                                  : 0) +
           peers * peerBytes(blocks);
  }

  void addLinks() {
    std::map<int, ir::LinkConnection> links;
    for (const Module& module : stages)
      for (const ir::Transfer& transfer : module.transfers)
        if (transfer.kind == ir::Transfer::Kind::send)
          links.try_emplace(transfer.link,
                            linkOf(transfer.link, module.stage, transfer.peer));
    for (const auto& [number, link] : links)
      result.links.push_back(link);
  }

  ir::LinkConnection linkOf(int number, int from, int to) const {
    const int width = sizes::blocksOfLine(areNear(from, to));
    const int64_t made = madeBytes(width);
    return {number,
            from,
            to,
            width,
            made + senderBytes(width),
            made + receiverBytes(width)};
  }

  /// Whether some rank of stage `from` is on the same host as its counterpart
  /// in stage `to`. The ranks of a stage are consecutive.
  bool areNear(int from, int to) const {
    const int64_t size = ir::sizeOf(mesh, all) / mesh.stages;
    for (int64_t i = 0; i < size; ++i)
      if (nodeOf(from * size + i) == nodeOf(to * size + i))
        return true;
    return false;
  }

  /// All stages of a pipeline exchange messages, which counts as an exchange.
  void addCommonBytes() {
    bool exchanges = mesh.stages > 1, maps = false;
    for (const GroupConnection& group : result.groups) {
      maps |= group.transport != Transport::nccl;
      for (Traffic traffic : group.traffic)
        exchanges |= group.transport == Transport::nccl &&
                     traffic != Traffic::collective;
    }
    result.commonBytes =
        libraryBytes + (result.packs ? 2 * sizes::packingBytes : 0) +
        (mesh.stages > 1 ? kernelsBytes : 0) +
        (exchanges ? firstExchangeBytes : 0) + (maps ? sizes::flagBytes : 0);
  }

  // ---- the mesh

  int64_t nodeOf(int64_t rank) const { return rank / result.ranksPerNode; }

  Spread spreadOf(const Key& key) const {
    const auto axes = AxisSet::fromBits(key.axes);
    const int64_t ranks = ir::sizeOf(mesh, all);
    // Indexed by the first rank of an instance. Hosts ascend with the ranks.
    struct Instance {
      int64_t ranks = 0, onHost = 0, node = -1;
    };
    std::vector<Instance> instances(static_cast<size_t>(ranks));
    Spread spread;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      if (!isMember(key, rank))
        continue;
      Instance& instance = instances[size_t(firstOf(axes, rank))];
      const int64_t node = nodeOf(rank);
      spread.isOnOneHost &= instance.ranks == 0 || instance.node == node;
      instance.onHost = instance.node == node ? instance.onHost + 1 : 1;
      instance.node = node;
      spread.ranks = std::max(spread.ranks, ++instance.ranks);
      spread.neighbours = std::max(spread.neighbours, instance.onHost);
    }
    return spread;
  }

  bool isMember(const Key& key, int64_t rank) const {
    const int stage = int(rank / (ir::sizeOf(mesh, all) / mesh.stages));
    return key.stages.empty() ||
           std::ranges::find(key.stages, stage) != key.stages.end();
  }

  /// The rank with coordinate 0 along the axes.
  int64_t firstOf(AxisSet axes, int64_t rank) const {
    int64_t first = rank, stride = 1;
    for (size_t axis = mesh.axes.size(); axis-- > 0;) {
      const int64_t size = mesh.axes[axis].size;
      if (axes.contains(ir::AxisId(axis)))
        first -= rank / stride % size * stride;
      stride *= size;
    }
    return first;
  }

  const std::vector<Module>& stages;
  const Module& mesh; // the mesh is the same in all stages
  AxisSet all;
  std::map<Key, Use> uses;
  ir::Connections result;
};

} // namespace

std::optional<ir::Connections> connect(const std::vector<Module>& stages,
                                       const recipe::Recipe& recipe) {
  if (recipe.string("cluster.hardware.kind") != "cuda")
    return std::nullopt;
  Connecting connecting(stages, recipe.integer("cluster.ranks_per_node"));
  if (!connecting.hasSeveralRanks())
    return std::nullopt;
  return connecting.run();
}

} // namespace recipec::passes
