// The verifier's rules for collectives and slices; see Verify.h.

#include "compiler/ir/OpVerifier.h"
#include "runtime/ops/CollectiveOps.h"
#include "runtime/ops/OpKind.h"

namespace recipec::ir {

namespace {

class CollectiveVerifier : OpVerifier {
public:
  CollectiveVerifier(const Module& module, const Op& op)
      : OpVerifier(module, op) {}

  std::vector<std::string> run() {
    switch (ops::CollectiveOp(op.kind)) {
    case ops::CollectiveOp::AllGatherDone:
    case ops::CollectiveOp::AllToAllDone:
    case ops::CollectiveOp::ReduceScatterStart:
      // A value in flight has the layout of the larger value: the gathered
      // result or the unreduced operand.
      expectAlike(op.operands[0], op.results[0]);
      break;
    case ops::CollectiveOp::RingShiftStart:
      shift(0);
      break;
    case ops::CollectiveOp::RingShiftDone:
      shift(op.results.size());
      for (size_t i = 0; i < op.results.size(); ++i)
        expect(op.results[i] == op.operands[i],
               "it completes another value than it received");
      break;
    case ops::CollectiveOp::AllReduce:
    case ops::CollectiveOp::AllGather:
    case ops::CollectiveOp::ReduceScatter:
    case ops::CollectiveOp::Slice:
    case ops::CollectiveOp::AllGatherStart:
    case ops::CollectiveOp::ReduceScatterDone:
      collective();
      break;
    case ops::CollectiveOp::AllToAllStart:
      collective();
      break;
    case ops::CollectiveOp::AllToAll:
      if (op.operands[1] != ValueId::none)
        counted(op.operands[0], op.operands[1]);
      collective();
      break;
    }
    return std::move(findings);
  }

private:
  void collective() {
    ValueId from = op.operands[0], to = op.results[0];
    // In-place all-reduce of a gradient or state: its sharding describes the
    // value before the op.
    if (from == to)
      return expect(op.kind == OpKind::AllReduce && !op.group.empty(),
                    "only an all-reduce may be in place");
    Pieces expected = pieces(from);
    AxisSet sum = partial(from);
    const AxisSet group = op.group;
    expect(!group.empty(), "the group is empty");
    if (op.kind == OpKind::AllReduce) {
      if (ops::AllReduceAttributes(op.attributes).reduce != "max") {
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

  /// The results have the layout of the operands from number `sent` on: each
  /// rank receives the part of another rank of the group.
  void shift(size_t sent) {
    expect(!op.group.empty(), "the group is empty");
    for (size_t i = 0; i < op.results.size(); ++i) {
      const ValueId from = op.operands[sent + i], to = op.results[i];
      if (from != ValueId::none && to != ValueId::none)
        expectAlike(from, to);
      expect((from == ValueId::none) == (to == ValueId::none),
             "it sends and receives other numbers of values");
    }
  }

  bool moveSplit(AxisSet group, Pieces& layout, AxisSet& sum) {
    if (op.kind == OpKind::AllToAll || op.kind == OpKind::AllToAllStart)
      return exchangeSplit(group, layout);
    int64_t dim = ops::AllGatherAttributes(op.attributes).dim;
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
    const ops::AllToAllAttributes attributes(op.attributes);
    const int64_t split = attributes.split, concat = attributes.concat;
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
};

} // namespace

std::vector<std::string> findInCollectives(const Module& module, const Op& op) {
  return CollectiveVerifier(module, op).run();
}

} // namespace recipec::ir
