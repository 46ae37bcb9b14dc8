// The verifier's rules for ops that slice, move and clear elements; see
// Verify.h.
// Dimensions that an op resizes are not sharded. All these ops are linear: a
// partial sum of the operands gives a partial sum of the result.

#include "compiler/ir/OpVerifier.h"
#include "runtime/ops/MoveOps.h"
#include "runtime/ops/OpKind.h"

namespace recipec::ir {
namespace {

class MoveVerifier : OpVerifier {
public:
  MoveVerifier(const Module& module, const Op& op) : OpVerifier(module, op) {}

  std::vector<std::string> run() {
    switch (ops::MoveOp(op.kind)) {
    case ops::MoveOp::Narrow:
      slice(op.operands[0], op.results[0]);
      break;
    case ops::MoveOp::Pad:
      slice(op.results[0], op.operands[0]);
      break;
    case ops::MoveOp::Concat:
      concat();
      break;
    case ops::MoveOp::Broadcast:
      broadcast(op.operands[0], op.results[0]);
      break;
    case ops::MoveOp::BroadcastBackward:
      broadcast(op.results[0], op.operands[0]);
      break;
    case ops::MoveOp::Zero:
      break;
    case ops::MoveOp::Cast:
      expectSame(op.operands[0], op.results[0]);
      break;
    case ops::MoveOp::CopyBegin:
    case ops::MoveOp::CopyEnd:
      copy();
      break;
    case ops::MoveOp::View:
      view();
      break;
    case ops::MoveOp::TakeRows:
      takeRows();
      break;
    }
    return std::move(findings);
  }

private:
  /// wide [..., n, ...] and part [..., m, ...], or [..., ...] if m = 1.
  void slice(ValueId wide, ValueId part) {
    const ops::NarrowAttributes attributes(op.attributes);
    const int64_t begin = attributes.begin, behind = attributes.behind;
    Pieces whole = piecesOf(module, wide), taken = piecesOf(module, part);
    expectSameType(wide, part);
    expect(partial(wide) == partial(part), "partial sums differ");
    if (behind < 0 || behind >= int64_t(whole.size()))
      return expect(false, "there is no dimension to slice");
    const size_t at = whole.size() - 1 - size_t(behind);
    const int64_t size = module[whole[at].dim].size;
    int64_t width = 1;
    if (taken.size() == whole.size()) {
      width = module[taken[at].dim].size;
      expect(taken[at].split.empty(), "a sliced dimension is split");
      taken.erase(taken.begin() + long(at));
    }
    expect(whole[at].split.empty(), "a sliced dimension is split");
    whole.erase(whole.begin() + long(at));
    expect(whole == taken, "the other dimensions differ");
    expect(op.attributes.contains("begin") && begin >= 0 && width <= size &&
               begin <= size - width,
           "the slice does not lie in its dimension");
  }

  /// Rows that differ only in width.
  void concat() {
    ValueId y = op.results[0];
    Pieces expected = leading(y);
    int64_t width = 0;
    for (ValueId x : op.operands) {
      expect(leading(x) == expected, "leading dimensions differ");
      expectSameType(x, y);
      expect(partial(x) == partial(y), "partial sums differ");
      width += widthOf(x);
    }
    expect(width == widthOf(y), "the widths do not add up");
  }

  /// All dimensions except the last, which must not be split.
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

  /// x [..., n], y [..., over, n]. The gradient of x sums over the copies: it
  /// is a partial sum when `over` is split.
  void broadcast(ValueId x, ValueId y) {
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

  /// Exactly one side is on the host. No other op accesses the host's memory.
  void copy() {
    ValueId from = op.operands[0], to = op.results[0];
    expectAlike(from, to);
    expect(module[from].onHost != module[to].onHost,
           "neither or both of a copy are on the host");
  }

  /// x [1, tokens, ...], rows [1, m], y [1, m, ...].
  void takeRows() {
    ValueId x = op.operands[0], y = op.results[0];
    const Pieces from = pieces(x), to = pieces(y);
    expectPrefix(y, op.operands[1]);
    expectSameType(x, y);
    expect(partial(x) == partial(y), "partial sums differ");
    expect(from.size() >= 2 && from.size() == to.size() &&
               std::equal(from.begin() + 2, from.end(), to.begin() + 2) &&
               from[1].split.empty(),
           "rows are of another width");
  }

  /// A range of a flat buffer, with the same partial sums.
  void view() {
    ValueId whole = op.operands[0], run = op.results[0];
    int64_t start = ops::ViewAttributes(op.attributes).start;
    expectSameType(whole, run);
    expect(partial(whole) == partial(run), "partial sums differ");
    expect(start >= 0 && start + localElements(module, run) <=
                             localElements(module, whole),
           "the run does not lie in its buffer");
  }
};

} // namespace

std::vector<std::string> findInMoves(const Module& module, const Op& op) {
  return MoveVerifier(module, op).run();
}

} // namespace recipec::ir
