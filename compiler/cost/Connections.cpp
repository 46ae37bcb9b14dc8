// Counts communicators as runtime/comm/NcclConnect.cpp creates them: one for
// all ranks, one for each other group that ops of any stage name, one more for
// each group with overlapped collectives that reach other hosts, and one for
// each link between stages. Within a host, overlapped collectives are peer
// copies (runtime/comm/PeerCopies.h): each rank has a page of flags and maps
// the arenas of the ranks that it exchanges data with. Where ranks map each
// other's arenas, kernels also run the collectives that need no packing;
// all-to-alls without packing always run this way.
//
// A communicator takes memory at its creation, at its first collective, which
// connects neighbours, and for each rank that it exchanges parts with. The
// memory grows with the multiprocessors ("blocks") that it may use. The byte
// counts are those of NCCL 2.28.9 between two H200 over NVLink, to 4 MiB.
// Neighbours on other hosts are assumed to take the same, other ranks there
// nothing.

#include "compiler/cost/Connections.h"

#include "runtime/ops/CollectiveOps.h"
#include "runtime/ops/OpTable.h"
#include "runtime/sizes/ConnectionWidths.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace recipec::cost {
namespace {

namespace sizes = reciperun::sizes;
using ir::OpKind;

constexpr int64_t mebibyte = int64_t(1) << 20;

/// NCCL's own block counts: its limit when unbounded, and the most that
/// collectives use.
constexpr int64_t mostBlocks = 32, mostInCollectives = 24;

constexpr int64_t madeBytes(int64_t blocks) {
  return (6 + 6 * blocks) * mebibyte;
}
constexpr int64_t neighboursBytes(int64_t blocks) {
  return 12 * std::min(blocks, mostInCollectives) * mebibyte;
}
constexpr int64_t peerBytes(int64_t blocks) {
  return 12 * blocks * mebibyte;
}
/// The receiver holds the data in flight.
constexpr int64_t senderBytes(int64_t blocks) {
  return 2 * blocks * mebibyte;
}
constexpr int64_t receiverBytes(int64_t blocks) {
  return 10 * blocks * mebibyte;
}

/// NCCL's code and its one-time allocations.
constexpr int64_t libraryBytes = 379 * mebibyte;
/// Taken at the first exchange or message.
constexpr int64_t firstExchangeBytes = 62 * mebibyte;
/// Taken by stages, which load all kernels at the start (exec/Devices.cpp).
constexpr int64_t kernelsBytes = 371 * mebibyte;

/// Why a group has several communicators: for collectives in stream order, for
/// collectives of contiguous memory, and for those that overlap kernels.
enum class Purpose { inTurn, ofRuns, besideKernels };

/// A group of ranks by its axes, and by its stages when it does not span all.
struct Communicator {
  uint32_t axes = 0;
  std::vector<std::string> stages;
  Purpose purpose = Purpose::inTurn;
  auto operator<=>(const Communicator&) const = default;
};

/// How ops use a communicator: the ops of the rank's own stage, or of any stage
/// where noted.
struct Uses {
  bool isCollective = false; // a ring or tree, which connects neighbours
  bool isShift = false;      // to the next rank
  bool isExchange = false;   // from each rank to each rank
  bool exchangesAnywhere = false;
  int64_t bytes = 0; // the largest over all stages

  void join(const Uses& other) {
    isCollective |= other.isCollective;
    isShift |= other.isShift;
    isExchange |= other.isExchange;
    exchangesAnywhere |= other.exchangesAnywhere;
    bytes = std::max(bytes, other.bytes);
  }
};

class Counter {
public:
  Counter(const std::vector<ir::Module>& stages, size_t number)
      : stage(stages[number]) {
    for (size_t axis = 0; axis < stage.axes.size(); ++axis)
      if (stage.axes[axis].size > 1)
        all = all | ir::AxisSet(ir::AxisId(axis));
    if (all.empty())
      return;
    found[{all.raw(), {}}];
    for (const ir::Module& each : stages) {
      for (const ir::Function& function : each.functions)
        for (const ir::Op& op : function.ops)
          if (ops::traitsOf(op.kind).isCollective && !(op.group & all).empty())
            add(each, op);
      // Dumped gradients are gathered among the ranks that share a region.
      for (const ir::Region& region : each.regions)
        if (!(region.shard & all).empty())
          found[{(region.shard & all).raw(), {}}];
    }
    keepMeetings();
  }

  int64_t bytes(int64_t node) const {
    if (all.empty())
      return 0;
    int64_t sum = libraryBytes + (packs ? 2 * sizes::packingBytes : 0) +
                  (stage.stages > 1 ? kernelsBytes : 0) + bytesOfLines(node);
    bool exchanges = !stage.transfers.empty();
    bool copies = false;
    std::map<Communicator, Uses> left; // communicators that NCCL serves
    for (const auto& [communicator, uses] : found)
      if (goesByCopies(communicator, node))
        copies = true;
      else
        left[byLibrary(communicator)].join(uses);
    for (const auto& [communicator, uses] : left)
      if (hasStage(communicator)) {
        sum += bytesOf(communicator, uses, node);
        exchanges |= uses.isExchange || uses.isShift;
      }
    return sum + (exchanges ? firstExchangeBytes : 0) +
           (copies ? sizes::flagBytes : 0);
  }

private:
  /// Assigns collectives of contiguous memory to peer kernels if the group has
  /// exchanges or its ranks map each other's memory anyway, and else to NCCL.
  void keepMeetings() {
    std::map<Communicator, Uses> kept;
    for (const auto& [communicator, uses] : found) {
      Communicator beside = communicator;
      beside.purpose = Purpose::besideKernels;
      const bool isMapped = uses.exchangesAnywhere || found.contains(beside);
      kept[isMapped ? communicator : byLibrary(communicator)].join(uses);
    }
    found = std::move(kept);
  }

  /// The communicator that serves contiguous collectives without peer kernels.
  static Communicator byLibrary(Communicator communicator) {
    if (communicator.purpose == Purpose::ofRuns)
      communicator.purpose = Purpose::inTurn;
    return communicator;
  }

  bool goesByCopies(const Communicator& communicator, int64_t node) const {
    const auto axes = ir::AxisSet::fromBits(communicator.axes);
    return communicator.purpose != Purpose::inTurn &&
           countOnHost(communicator.axes, node) == ir::sizeOf(stage, axes);
  }

  int64_t bytesOf(const Communicator& communicator, const Uses& uses,
                  int64_t node) const {
    const int64_t blocks = blocksOf(communicator, uses, node);
    return madeBytes(blocks) +
           (uses.isCollective ? neighboursBytes(blocks) : 0) +
           peersOf(communicator, uses, node) * peerBytes(blocks);
  }

  int64_t blocksOf(const Communicator& communicator, const Uses& uses,
                   int64_t node) const {
    const auto axes = ir::AxisSet::fromBits(communicator.axes);
    const int blocks =
        sizes::blocksOfGroup(uses.bytes, countOnHost(communicator.axes, node),
                             ir::sizeOf(stage, axes), uses.exchangesAnywhere);
    return blocks == sizes::unboundedBlocks ? mostBlocks : blocks;
  }

  int64_t bytesOfLines(int64_t node) const {
    std::map<int, ir::Transfer::Kind> links;
    for (const ir::Transfer& transfer : stage.transfers)
      links[transfer.link] = transfer.kind;
    const ir::AxisId pipeline = ir::findAxis(stage, "pp");
    const bool isNear = countOnHost(ir::AxisSet(pipeline).raw(), node) > 1;
    const int64_t blocks = sizes::blocksOfLine(isNear);
    int64_t sum = 0;
    for (const auto& [link, kind] : links)
      sum += madeBytes(blocks) + (kind == ir::Transfer::Kind::send
                                      ? senderBytes(blocks)
                                      : receiverBytes(blocks));
    return sum;
  }

  /// Whether the group includes ranks of this stage.
  bool hasStage(const Communicator& communicator) const {
    const std::vector<std::string>& stages = communicator.stages;
    return stages.empty() ||
           std::find(stages.begin(), stages.end(),
                     std::to_string(stage.stage)) != stages.end();
  }

  /// The number of peers with device buffers. Peers on other hosts are reached
  /// through host memory.
  int64_t peersOf(const Communicator& communicator, const Uses& uses,
                  int64_t node) const {
    const int64_t peers = countOnHost(communicator.axes, node) - 1;
    return uses.isExchange ? peers
           : uses.isShift  ? std::min<int64_t>(peers, 1)
                           : 0;
  }

  /// The number of ranks along the axes on the first rank's host. A host has
  /// `node` consecutive ranks; the last axis varies fastest.
  int64_t countOnHost(uint32_t axes, int64_t node) const {
    std::vector<int64_t> members = {0};
    int64_t stride = 1;
    for (size_t axis = stage.axes.size(); axis-- > 0 && stride < node;) {
      const int64_t size = stage.axes[axis].size;
      const size_t inner = members.size();
      if (ir::AxisSet::fromBits(axes).contains(ir::AxisId(axis)))
        for (int64_t step = 1; step < size && step * stride < node; ++step)
          for (size_t i = 0; i < inner; ++i)
            if (int64_t rank = members[i] + step * stride; rank < node)
              members.push_back(rank);
      stride *= size;
    }
    return int64_t(members.size());
  }

  void add(const ir::Module& module, const ir::Op& op) {
    Communicator communicator{(op.group & all).raw(), {}};
    communicator.stages = ops::AllReduceAttributes(op.attributes).stages;
    communicator.purpose = purposeOf(module, op);
    if (ops::traitsOf(op.kind).finishes)
      return;
    Uses& uses = found[communicator];
    uses.bytes = std::max(uses.bytes, sizeOf(module, op));
    packs |= doesPack(module, op);
    const bool isExchange =
        op.kind == OpKind::AllToAll || op.kind == OpKind::ReduceScatterStart;
    uses.exchangesAnywhere |= isExchange;
    if (&module != &stage)
      return;
    const bool isShift = op.kind == OpKind::RingShiftStart;
    (isExchange ? uses.isExchange
     : isShift  ? uses.isShift
                : uses.isCollective) = true;
  }

  static Purpose purposeOf(const ir::Module& module, const ir::Op& op) {
    return ops::traitsOf(op.kind).runsBesideKernels ? Purpose::besideKernels
           : movesRuns(module, op)                  ? Purpose::ofRuns
                                                    : Purpose::inTurn;
  }

  /// Whether each part is contiguous: all dimensions before the split and the
  /// concatenated dimension have size 1.
  static bool movesRuns(const ir::Module& module, const ir::Op& op) {
    const auto isRun = [&](ir::ValueId value, int64_t dim) {
      return rowsBefore(module, value, size_t(dim)) == 1;
    };
    switch (op.kind) {
    case OpKind::AllGather:
    case OpKind::ReduceScatter:
      return isRun(op.operands[0], ops::AllGatherAttributes(op.attributes).dim);
    case OpKind::AllToAll: {
      const ops::AllToAllAttributes attributes(op.attributes);
      return isRun(op.operands[0], attributes.split) &&
             isRun(op.results[0], attributes.concat);
    }
    default:
      return false;
    }
  }

  /// Whether the op packs, because it works along a dimension other than the
  /// first.
  static bool doesPack(const ir::Module& module, const ir::Op& op) {
    if (op.kind == OpKind::AllToAll)
      return !movesRuns(module, op);
    return ops::AllGatherAttributes(op.attributes).dim > 0;
  }

  /// The product of the dimensions before `dim`.
  static int64_t rowsBefore(const ir::Module& module, ir::ValueId value,
                            size_t dim) {
    const std::vector<int64_t> shape = ir::localShape(module, value);
    return std::accumulate(shape.begin(), shape.begin() + long(dim), int64_t(1),
                           std::multiplies<>());
  }

  /// The size of an op: all that a shift sends, or the largest operand or
  /// result of another collective.
  static int64_t sizeOf(const ir::Module& module, const ir::Op& op) {
    const bool isShift = op.kind == OpKind::RingShiftStart;
    int64_t sum = 0, largest = 0;
    for (const auto* list : {&op.operands, &op.results})
      for (ir::ValueId value : *list)
        if (value != ir::ValueId::none) {
          const int64_t bytes = ir::localBytes(module, value);
          sum += list == &op.operands ? bytes : 0;
          largest = std::max(largest, bytes);
        }
    return isShift ? sum : largest;
  }

  const ir::Module& stage;
  ir::AxisSet all;
  std::map<Communicator, Uses> found;
  bool packs = false;
};

} // namespace

int64_t connectionBytes(const std::vector<ir::Module>& stages, size_t stage,
                        int64_t node) {
  return Counter(stages, stage).bytes(node);
}

} // namespace recipec::cost
