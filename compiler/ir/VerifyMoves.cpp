// The verifier's rules for ops that bring elements elsewhere: collectives, a
// rank's slice, and copies between the device and the host; see Verify.h.

#include "compiler/ir/OpVerifier.h"

namespace recipec::ir {

namespace {

class MoveVerifier : OpVerifier {
public:
  MoveVerifier(const Module& module, const Op& op) : OpVerifier(module, op) {}

  std::vector<std::string> run() {
    switch (op.kind) {
    case OpKind::CopyBegin:
    case OpKind::CopyEnd:
      copy();
      break;
    case OpKind::AllGatherDone:
    case OpKind::ReduceScatterStart:
      // What is on its way lies as it does before or behind.
      expectAlike(op.operands[0], op.results[0]);
      break;
    case OpKind::AllReduce:
    case OpKind::AllGather:
    case OpKind::ReduceScatter:
    case OpKind::Slice:
    case OpKind::AllGatherStart:
    case OpKind::ReduceScatterDone:
    case OpKind::AllToAll:
      collective();
      break;
    default:
      expect(false, "the op is no collective and no copy");
    }
    return std::move(findings);
  }

private:
  /// All other ops are the device's.
  void copy() {
    ValueId from = op.operands[0], to = op.results[0];
    expectAlike(from, to);
    expect(module[from].onHost != module[to].onHost,
           "neither or both of a copy are on the host");
  }

  void collective() {
    ValueId from = op.operands[0], to = op.results[0];
    // Gradients and states are reduced where they lie; their sharding is that
    // of the time before.
    if (from == to)
      return expect(op.kind == OpKind::AllReduce && !op.group.empty(),
                    "only an all-reduce may be in place");
    Pieces expected = pieces(from);
    AxisSet sum = partial(from);
    AxisSet group = op.kind == OpKind::Slice ? axis() : op.group;
    expect(!group.empty(), "the group is empty");
    if (op.kind == OpKind::AllReduce) {
      if (valueOf<std::string>("reduce") != "max") {
        expect((sum & group) == group, "there is no sum over the group");
        sum = sum - group;
      }
    } else if (!moveSplit(group, expected, sum)) {
      return;
    }
    expectSameType(from, to);
    expect(pieces(to) == expected && partial(to) == sum,
           "the result's layout is not the collective's");
  }

  bool moveSplit(AxisSet group, Pieces& layout, AxisSet& sum) {
    if (op.kind == OpKind::AllToAll)
      return exchangeSplit(group, layout);
    int64_t dim = valueOf<int64_t>("dim");
    if (dim < 0 || dim >= int64_t(layout.size())) {
      expect(false, "the dimension is not there");
      return false;
    }
    AxisSet& split = layout[size_t(dim)].split;
    if (op.kind == OpKind::AllGather || op.kind == OpKind::AllGatherStart) {
      expect((split & group) == group, "the group does not split it");
      split = split - group;
      return true;
    }
    expect((splitOf(layout) & group).empty(), "the group splits it");
    split = split | group;
    if (op.kind != OpKind::Slice) {
      expect((sum & group) == group, "there is no sum over the group");
      sum = sum - group;
    } else {
      expect((sum & group).empty(), "a sum over the axis is sliced");
    }
    return true;
  }

  bool exchangeSplit(AxisSet group, Pieces& layout) {
    int64_t split = valueOf<int64_t>("split");
    int64_t concat = valueOf<int64_t>("concat");
    int64_t rank = int64_t(layout.size());
    if (split < 0 || split >= rank || concat < 0 || concat >= rank) {
      expect(false, "the dimension is not there");
      return false;
    }
    AxisSet& joined = layout[size_t(concat)].split;
    expect((joined & group) == group, "the group does not split it");
    joined = joined - group;
    layout[size_t(split)].split = layout[size_t(split)].split | group;
    return true;
  }

  AxisSet axis() const {
    return findGroup(module, valueOf<std::string>("axis"));
  }
};

} // namespace

std::vector<std::string> findInMoves(const Module& module, const Op& op) {
  return MoveVerifier(module, op).run();
}

} // namespace recipec::ir
