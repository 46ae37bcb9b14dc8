// Counts communicators as runtime/comm/NcclConnect.cpp makes them: one of all
// ranks, one for each other group that ops of some stage name, one more for
// each whose collectives run beside kernels and reach other hosts, and one for
// each link of messages between stages. Within a host, what runs beside kernels
// is copied (runtime/comm/PeerCopies.h), for which a rank has a page of flags
// and maps the arenas of those that it exchanges data with. Kernels of ranks
// that map them do by themselves what needs no packing, and all such
// all-to-alls.
//
// A communicator takes memory when it is made, when its first collective
// connects neighbours, and for each rank that it exchanges parts with: the more
// multiprocessors ("blocks") it may take, the more. Bytes are those of NCCL
// 2.28.9 between two H200 over NVLink, to 4 MiB. Those of ranks on other hosts
// are assumed to be the same for neighbours, and none for other ranks.

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

/// The library's own blocks, where they are not bounded, and as many of them as
/// carry collectives.
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
/// Who receives keeps what is under way.
constexpr int64_t senderBytes(int64_t blocks) {
  return 2 * blocks * mebibyte;
}
constexpr int64_t receiverBytes(int64_t blocks) {
  return 10 * blocks * mebibyte;
}

/// The library's own code, and what it keeps once.
constexpr int64_t libraryBytes = 379 * mebibyte;
/// What it takes for the first exchange or message.
constexpr int64_t firstExchangeBytes = 62 * mebibyte;
/// What stages take that load all kernels when they start (exec/Devices.cpp).
constexpr int64_t kernelsBytes = 371 * mebibyte;

/// What there are several communicators of a group for.
enum class Purpose { inTurn, ofRuns, besideKernels };

/// The ranks of a group, by its axes, and its stages where it is not of all.
struct Communicator {
  uint32_t axes = 0;
  std::vector<std::string> stages;
  Purpose purpose = Purpose::inTurn;
  auto operator<=>(const Communicator&) const = default;
};

/// What ops use a communicator for: those of the rank's own stage, and those of
/// any stage where it says so.
struct Uses {
  bool isCollective = false; // in a ring or tree, which connects neighbours
  bool isShift = false;      // to the next rank
  bool isExchange = false;   // from each rank to each
  bool exchangesAnywhere = false;
  int64_t bytes = 0; // the most of any stage's

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
      // Gradients that are dumped are gathered among those that share a region.
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
    std::map<Communicator, Uses> left; // for the library
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
  /// Leaves runs to kernels where ranks map each other's memory anyway.
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

  /// What runs go by where kernels do not meet.
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

  /// Whether a rank of the stage is one of the group's.
  bool hasStage(const Communicator& communicator) const {
    const std::vector<std::string>& stages = communicator.stages;
    return stages.empty() ||
           std::find(stages.begin(), stages.end(),
                     std::to_string(stage.stage)) != stages.end();
  }

  /// Those of other hosts are reached through the host's memory.
  int64_t peersOf(const Communicator& communicator, const Uses& uses,
                  int64_t node) const {
    const int64_t peers = countOnHost(communicator.axes, node) - 1;
    return uses.isExchange ? peers
           : uses.isShift  ? std::min<int64_t>(peers, 1)
                           : 0;
  }

  /// How many ranks along the axes share the host of the first: a host has
  /// `node` ranks in a row, and the last axis counts fastest.
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
    uses.bytes = std::max(uses.bytes, largestOf(module, op));
    packs |= doesPack(module, op);
    const bool isExchange =
        op.kind == OpKind::AllToAll || op.kind == OpKind::ReduceScatterStart;
    uses.exchangesAnywhere |= isExchange;
    if (&module != &stage)
      return;
    (isExchange   ? uses.isExchange
     : isRing(op) ? uses.isShift
                  : uses.isCollective) = true;
  }

  static bool isRing(const ir::Op& op) {
    return op.kind == OpKind::RingAttention ||
           op.kind == OpKind::RingAttentionBackward;
  }

  static Purpose purposeOf(const ir::Module& module, const ir::Op& op) {
    return ops::traitsOf(op.kind).runsBesideKernels ? Purpose::besideKernels
           : movesRuns(module, op)                  ? Purpose::ofRuns
                                                    : Purpose::inTurn;
  }

  /// Whether parts are one run of memory: no dimension before those that are
  /// cut and put together is longer than 1.
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

  /// Along another dimension than the first.
  static bool doesPack(const ir::Module& module, const ir::Op& op) {
    if (op.kind == OpKind::AllToAll)
      return !movesRuns(module, op);
    return ops::AllGatherAttributes(op.attributes).dim > 0;
  }

  /// The product of the dimensions before one.
  static int64_t rowsBefore(const ir::Module& module, ir::ValueId value,
                            size_t dim) {
    const std::vector<int64_t> shape = ir::localShape(module, value);
    return std::accumulate(shape.begin(), shape.begin() + long(dim), int64_t(1),
                           std::multiplies<>());
  }

  static int64_t largestOf(const ir::Module& module, const ir::Op& op) {
    int64_t largest = 0;
    for (const auto* list : {&op.operands, &op.results})
      for (ir::ValueId value : *list)
        if (value != ir::ValueId::none)
          largest = std::max(largest, ir::localBytes(module, value));
    return largest;
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
