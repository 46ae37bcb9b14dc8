// The verifier's rules for mixtures of experts; see Verify.h.

#include "compiler/ir/OpVerifier.h"
#include "runtime/ops/ExpertOps.h"

#include <algorithm>

namespace recipec::ir {

namespace {

class ExpertsVerifier : OpVerifier {
public:
  ExpertsVerifier(const Module& module, const Op& op)
      : OpVerifier(module, op) {}

  std::vector<std::string> run() {
    switch (ops::ExpertOp(op.kind)) {
    case ops::ExpertOp::Route:
      route();
      break;
    case ops::ExpertOp::RouteBackward:
      expectWhole();
      expectSame(op.operands[0], op.operands[3]);
      expectSame(op.operands[1], op.results[0]);
      break;
    case ops::ExpertOp::BalanceExperts:
      balance();
      break;
    case ops::ExpertOp::Dispatch:
      expectWhole();
      experts(op.operands[0], op.results[0], op.results[1]);
      counted(op.results[0], op.results[2]);
      break;
    case ops::ExpertOp::PackRows:
      packed(op.operands[0], op.results[0]);
      counted(op.operands[0], op.operands[1]);
      if (op.results[1] != ValueId::none)
        counted(op.results[0], op.results[1]);
      break;
    case ops::ExpertOp::UnpackRows:
      packed(op.results[0], op.operands[0]);
      counted(op.results[0], op.operands[1]);
      break;
    case ops::ExpertOp::DispatchBackward:
      experts(op.results[0], op.operands[0], op.operands[1]);
      break;
    case ops::ExpertOp::Combine:
      experts(op.results[0], op.operands[0], op.operands[1]);
      break;
    case ops::ExpertOp::CombineBackward:
      experts(op.operands[0], op.results[0], op.operands[1]);
      break;
    case ops::ExpertOp::RowDots:
      rowDots(op.results[0]);
      break;
    case ops::ExpertOp::SwigluBackwardDots:
      for (ValueId value : {op.operands[2], op.results[0], op.results[1]}) {
        expectSame(op.operands[0], value);
        expectSameType(op.operands[0], value);
      }
      rowDots(op.results[2]);
      break;
    case ops::ExpertOp::GatesBackward:
      gatesBackward();
      break;
    case ops::ExpertOp::ExpertLinear:
      expertLinear(op.operands[0], op.results[0], op.operands[0],
                   op.results[0]);
      break;
    case ops::ExpertOp::ExpertLinearDgrad:
      expertLinear(op.results[0], op.operands[0], op.operands[0],
                   op.results[0]);
      break;
    case ops::ExpertOp::ExpertLinearWgrad:
      expertWgrad();
      break;
    }
    return std::move(findings);
  }

private:
  /// Routing needs whole sequences.
  void route() {
    expectWhole();
    Pieces logits = pieces(op.operands[0]);
    expect(logits.size() == 3 && logits[1].split.empty() &&
               logits[2].split.empty(),
           "a sequence or the experts are split");
    expectPrefix(op.operands[0], op.operands[1]);
    expectPrefix(op.results[0], op.operands[1]);
    expectSame(op.results[0], op.results[1]);
    for (size_t sum : {2, 3, 4})
      if (op.results[sum] != ValueId::none)
        expect((partial(op.results[sum]) & splitOf(logits)) == splitOf(logits),
               "a sum over tokens is not a partial one");
  }

  void balance() {
    expectWhole();
    expectSame(op.operands[0], op.results[0]);
  }

  /// Packing: `blocks` are rows [groups, places, h] of several blocks, and
  /// `one` the packed rows in one block.
  void packed(ValueId blocks, ValueId one) {
    Pieces from = pieces(blocks), to = pieces(one);
    expect(from.size() == 3 && to.size() == 3 && from[0] == to[0] &&
               from[1].split == to[1].split && from[2] == to[2] &&
               partial(blocks) == partial(one),
           "rows and what is packed of them lie on different ranks");
  }

  /// Tokens [b, s, h] and their rows [groups, places, h] are on the same ranks.
  void experts(ValueId tokens, ValueId rows, ValueId numbers) {
    Pieces from = pieces(tokens), to = pieces(rows);
    expect(from.size() == 3 && to.size() == 3 && to[0].split.empty() &&
               to[1].split == (from[0].split | from[1].split) &&
               from[2] == to[2],
           "tokens and rows lie on different ranks");
    expectSameType(tokens, rows);
    expect(partial(tokens) == partial(rows), "partial sums differ");
    Pieces number = pieces(numbers);
    expect(number.size() == 3 && from.size() == 3 && number[0] == from[0] &&
               number[1] == from[1],
           "leading dimensions differ");
  }

  /// The first two operands [groups, places, n...], numbers [groups, places,
  /// 1]: a partial sum over the axes that split a row.
  void rowDots(ValueId numbers) {
    expectWhole();
    expectSame(op.operands[0], op.operands[1]);
    expectSameType(op.operands[0], op.operands[1]);
    Pieces a = pieces(op.operands[0]), dots = pieces(numbers);
    expect(a.size() > 2 && dots.size() == 3 && a[0] == dots[0] &&
               a[1] == dots[1] && dots[2].split.empty(),
           "dimensions differ");
    expect(a.size() < 3 ||
               partial(numbers) == splitOf(part(a, 2, a.size() - 2)),
           "the partial sum is not that of the rows");
  }

  /// dots [groups, places, 1] are on the ranks of the rows' tokens.
  void gatesBackward() {
    expectWhole();
    Pieces dots = pieces(op.operands[0]), rows = pieces(op.operands[1]);
    expect(dots.size() == 3 && rows.size() == 3 && dots[0].split.empty() &&
               dots[1].split == (rows[0].split | rows[1].split),
           "tokens and rows lie on different ranks");
    expectSame(op.operands[1], op.operands[2]);
    expectSame(op.operands[2], op.results[0]);
  }

  /// The axes that split the dimensions of an expert's weight that `kept` (x or
  /// y) lacks.
  AxisSet contractedOf(ValueId weight, ValueId kept) const {
    Pieces all = pieces(weight), stay = pieces(kept);
    AxisSet split;
    for (size_t i = 1; i < all.size(); ++i)
      if (std::find(stay.begin() + 2, stay.end(), all[i]) == stay.end())
        split = split | all[i].split;
    return split;
  }

  /// x [groups, places, from...] and y [groups, places, to...]. `in` is the one
  /// that the op reads, and `out` the one that it computes.
  void expertLinear(ValueId x, ValueId y, ValueId in, ValueId out) {
    Pieces xs = pieces(x), ys = pieces(y), ws = pieces(op.operands[1]);
    bool agree = xs.size() > 2 && ys.size() > 2 &&
                 ws.size() == xs.size() + ys.size() - 3 && xs[0] == ys[0] &&
                 xs[0].split == ws[0].split && xs[1] == ys[1];
    expect(agree, "dimensions differ");
    counted(x, op.operands[2]);
    if (agree)
      expect(partial(out) == (contractedOf(op.operands[1], out) | partial(in)),
             "the partial sum is not that of the contraction");
  }

  void expertWgrad() {
    Pieces x = pieces(op.operands[0]), dy = pieces(op.operands[1]);
    expect(x.size() > 2 && dy.size() > 2 && x[0] == dy[0] && x[1] == dy[1],
           "dimensions differ");
    counted(op.operands[0], op.operands[2]);
    AxisSet needed = splitOf(Pieces{x[1]}) | partial(op.operands[0]) |
                     partial(op.operands[1]);
    expect((partial(op.results[0]) & needed) == needed,
           "the partial sum is not that of the gradient");
  }
};

} // namespace

std::vector<std::string> findInExperts(const Module& module, const Op& op) {
  return ExpertsVerifier(module, op).run();
}

} // namespace recipec::ir
