// Counts communicators as runtime/comm/NcclConnect.cpp makes them: one of all
// ranks, one for each other group that ops name, one more for each whose
// collectives run beside kernels, and one for each message between stages.
//
// A communicator takes memory when it is made, when its first collective
// connects neighbours, and for each rank that it exchanges parts with. Bytes
// are those of NCCL 2.28.3 between two H200 over NVLink: differences between
// runs in eight layouts, which they give back to 10 MiB, and between three with
// stages, to 18 MiB. That messages between stages take `firstMessageBytes`
// once, whatever their number, is seen and not explained; that it is as much
// with more than two stages is assumed.

#include "compiler/cost/Connections.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace recipec::cost {
namespace {

using ir::OpKind;

constexpr int64_t mebibyte = int64_t(1) << 20;

constexpr int64_t firstBytes = 576 * mebibyte; // with the library's own code
constexpr int64_t communicatorBytes = 194 * mebibyte;
constexpr int64_t neighboursBytes = 289 * mebibyte;
constexpr int64_t peerBytes = 446 * mebibyte;
/// Of the 32 channels that others have, messages of stages take 8, in a
/// communicator each; who receives keeps what is under way.
constexpr int64_t messageBytes = 54 * mebibyte;
constexpr int64_t senderBytes = 16 * mebibyte;
constexpr int64_t receiverBytes = 80 * mebibyte;
constexpr int64_t firstMessageBytes = 433 * mebibyte; // from 418 to 449
/// Two buffers for parts along other dimensions than the first
/// (NcclCommunicator::bufferBytes).
constexpr int64_t packingBytes = 2 * 32 * mebibyte;

/// What a communicator is used for.
struct Uses {
  bool isCollective = false; // in a ring or tree, which connects neighbours
  bool isShift = false;      // to the next rank
  bool isExchange = false;   // from each rank to each
};

/// The ranks of a group, by its axes, and its stages where it is not of all;
/// and whether it is that of what runs beside kernels.
struct Communicator {
  uint32_t axes = 0;
  std::vector<std::string> stages;
  bool isBackground = false;
  auto operator<=>(const Communicator&) const = default;
};

class Counter {
public:
  explicit Counter(const ir::Module& stage) : stage(stage) {
    for (size_t axis = 0; axis < stage.axes.size(); ++axis)
      if (stage.axes[axis].size > 1)
        all = all | ir::AxisSet(ir::AxisId(axis));
    for (const ir::Function& function : stage.functions)
      for (const ir::Op& op : function.ops)
        if (ir::isCollective(op.kind) && !(op.group & all).empty())
          add(op);
    // Gradients that are dumped are gathered among those that share a region.
    for (const ir::Region& region : stage.regions)
      if (!(region.shard & all).empty())
        found[{(region.shard & all).raw(), {}, false}];
  }

  int64_t bytes(int64_t node) const {
    if (all.empty())
      return 0;
    int64_t sum = firstBytes + (packs ? packingBytes : 0) + bytesOfMessages();
    for (const auto& [communicator, uses] : found)
      sum += (isWorld(communicator) ? 0 : communicatorBytes) +
             (uses.isCollective ? neighboursBytes : 0) +
             peersOf(communicator, uses, node) * peerBytes;
    return sum;
  }

private:
  int64_t bytesOfMessages() const {
    int64_t sum = stage.transfers.empty() ? 0 : firstMessageBytes;
    for (const ir::Transfer& transfer : stage.transfers)
      sum += messageBytes + (transfer.kind == ir::Transfer::Kind::send
                                 ? senderBytes
                                 : receiverBytes);
    return sum;
  }

  bool isWorld(const Communicator& communicator) const {
    return communicator.axes == all.raw() && communicator.stages.empty() &&
           !communicator.isBackground;
  }

  /// Those of other hosts are reached through the host's memory.
  int64_t peersOf(const Communicator& communicator, Uses uses,
                  int64_t node) const {
    const int64_t peers = onHost(communicator.axes, node) - 1;
    return uses.isExchange ? peers
           : uses.isShift  ? std::min<int64_t>(peers, 1)
                           : 0;
  }

  /// How many ranks along the axes share the host of the first: a host has
  /// `node` ranks in a row, and the last axis counts fastest.
  int64_t onHost(uint32_t axes, int64_t node) const {
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

  void add(const ir::Op& op) {
    Communicator communicator{(op.group & all).raw(), {}, false};
    if (const auto chosen = op.attributes.find("stages");
        chosen != op.attributes.end())
      communicator.stages = std::get<std::vector<std::string>>(chosen->second);
    switch (op.kind) {
    case OpKind::AllReduce:
      found[communicator].isCollective = true;
      break;
    case OpKind::AllGather:
    case OpKind::ReduceScatter:
      found[communicator].isCollective = true;
      packs |= std::get<int64_t>(op.attributes.at("dim")) > 0;
      break;
    case OpKind::AllToAll:
      found[communicator].isExchange = true;
      packs = true;
      break;
    case OpKind::AllGatherStart:
      communicator.isBackground = true;
      found[communicator].isCollective = true;
      break;
    case OpKind::ReduceScatterStart:
      communicator.isBackground = true;
      found[communicator].isExchange = true;
      break;
    case OpKind::RingAttention:
    case OpKind::RingAttentionBackward:
      communicator.isBackground = true;
      found[communicator].isShift = true;
      break;
    default: // the end of what has begun
      break;
    }
  }

  const ir::Module& stage;
  ir::AxisSet all;
  std::map<Communicator, Uses> found;
  bool packs = false;
};

} // namespace

int64_t connectionBytes(const ir::Module& stage, int64_t node) {
  return Counter(stage).bytes(node);
}

} // namespace recipec::cost
