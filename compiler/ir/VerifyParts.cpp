// Ops that put rows apart and together, as the verifier sees them: what they
// change of a shape is whole on every rank, everything else is the operand's.
// All are linear, so that a partial sum of what they read is one of the result.

#include "compiler/ir/OpVerifier.h"

namespace recipec::ir {
namespace {

class Parts : OpVerifier {
public:
  Parts(const Module& module, const Op& op) : OpVerifier(module, op) {}

  std::vector<std::string> run() {
    bool isBack = op.kind == OpKind::BroadcastBackward;
    if (op.kind == OpKind::Broadcast || isBack)
      copies(isBack ? op.results[0] : op.operands[0],
             isBack ? op.operands[0] : op.results[0]);
    else
      rows();
    return std::move(findings);
  }

private:
  /// narrow, pad, concat: rows that differ in width alone.
  void rows() {
    ValueId y = op.results[0];
    Pieces expected = leading(y);
    int64_t width = 0;
    for (ValueId x : op.operands) {
      expect(leading(x) == expected, "leading dimensions differ");
      expectSameType(x, y);
      expect(partial(x) == partial(y), "partial sums differ");
      width += widthOf(x);
    }
    if (op.kind == OpKind::Concat)
      return expect(width == widthOf(y), "the widths do not add up");
    bool isPad = op.kind == OpKind::Pad;
    int64_t whole = isPad ? widthOf(y) : width,
            part = isPad ? width : widthOf(y);
    const int64_t* first = attribute<int64_t>("begin");
    expect(first && *first >= 0 && part <= whole && *first <= whole - part,
           "the part does not lie in its row");
  }

  /// All but the last piece, which is whole.
  Pieces leading(ValueId id) {
    Pieces pieces = piecesOf(module, id);
    if (pieces.empty()) {
      findings.emplace_back("there is no row");
      return pieces;
    }
    expect(pieces.back().split.empty(), "a row is split");
    pieces.pop_back();
    return pieces;
  }

  int64_t widthOf(ValueId id) const {
    const std::vector<DimId>& dims = module[id].dims;
    return dims.empty() ? 0 : module[dims.back()].size;
  }

  /// x [..., n], y [..., over, n]. A sum over copies is a partial one where
  /// ranks have some of them.
  void copies(ValueId x, ValueId y) {
    Pieces pieces = piecesOf(module, y);
    if (pieces.size() < 2)
      return expect(false, "there is nothing to copy over");
    AxisSet over = pieces[pieces.size() - 2].split;
    pieces.erase(pieces.end() - 2);
    expect(piecesOf(module, x) == pieces, "dimensions differ");
    expectSameType(x, y);
    bool isBack = op.kind == OpKind::BroadcastBackward;
    expect(partial(x) == (isBack ? partial(y) | over : partial(y)),
           "partial sums differ");
  }
};

} // namespace

std::vector<std::string> findInParts(const Module& module, const Op& op) {
  return Parts(module, op).run();
}

} // namespace recipec::ir
