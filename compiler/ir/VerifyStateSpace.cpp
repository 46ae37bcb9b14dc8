// The verifier's rules for state spaces; see Verify.h. Sequences are not split,
// because a token depends on all earlier ones. Only samples and groups are
// split; parameters [groups, ...] are split like the groups.

#include "compiler/ir/OpVerifier.h"
#include "runtime/ops/StateSpaceOps.h"

namespace recipec::ir {

namespace {

class StateSpaceVerifier : OpVerifier {
public:
  StateSpaceVerifier(const Module& module, const Op& op)
      : OpVerifier(module, op) {}

  std::vector<std::string> run() {
    expectWhole();
    switch (ops::StateSpaceOp(op.kind)) {
    case ops::StateSpaceOp::CausalConv:
      expectSame(op.operands[0], op.results[0]);
      conv(op.operands[0], op.operands[1], op.operands[2]);
      break;
    case ops::StateSpaceOp::CausalConvBackward:
      expectSame(op.operands[0], op.operands[1]);
      conv(op.operands[1], op.operands[2], op.operands[3]);
      cotangents(1, 1);
      gradients(2, 1);
      break;
    case ops::StateSpaceOp::StateScan:
      expectSame(op.operands[0], op.results[0]);
      scanned(0);
      if (op.results[1] != ValueId::none)
        states(0, op.results[1]);
      break;
    case ops::StateSpaceOp::StateScanBackward:
      expectSame(op.operands[0], op.operands[1]);
      scanned(1);
      states(1, op.operands[9]);
      cotangents(1, 4);
      gradients(5, 4);
      break;
    case ops::StateSpaceOp::CausalConvStep:
      expectSame(op.operands[0], op.results[0]);
      conv(op.operands[0], op.operands[1], op.operands[2]);
      expectPrefix(op.operands[0], op.operands[3]);
      kept(op.operands[0], op.results[1]);
      break;
    case ops::StateSpaceOp::StateScanStep:
      expectSame(op.operands[0], op.results[0]);
      scanned(0);
      expectPrefix(op.operands[0], op.operands[8]);
      kept(op.operands[0], op.results[1]);
      break;
    }
    return std::move(findings);
  }

private:
  /// x [b, s, groups, channels]; sequences and channels are not split.
  bool tokens(ValueId x) {
    Pieces all = pieces(x);
    bool fits = all.size() == 4 && all[1].split.empty() && all[3].split.empty();
    expect(fits, "a sequence or a group is split");
    return fits;
  }

  /// w [groups, channels, kernel].
  void conv(ValueId x, ValueId w, ValueId segments) {
    if (!tokens(x))
      return;
    Pieces from = pieces(x), taps = pieces(w);
    expect(taps.size() == 3 && taps[0] == from[2] && taps[1] == from[3] &&
               taps[2].split.empty(),
           "the weight is another's");
    expectPrefix(x, segments);
  }

  /// `values` are the states [b, groups, chunks, channels, state] of a scan,
  /// whose operands begin at `first`.
  void states(size_t first, ValueId values) {
    Pieces from = pieces(op.operands[first]),
           b = pieces(op.operands[first + 2]), before = pieces(values);
    expect(from.size() == 4 && b.size() == 4 && before.size() == 5 &&
               before[0] == from[0] && before[1] == from[2] &&
               before[2].split.empty() && before[3] == from[3] &&
               before[4] == b[3],
           "the states are another's");
  }

  /// x, dt, b, c, a_log, d, dt_bias and segments from operand `first` on; the
  /// last is `positions` in a serving step.
  void scanned(size_t first) {
    for (size_t i = 0; i < 4; ++i)
      if (!tokens(op.operands[first + i]))
        return;
    ValueId x = op.operands[first];
    Pieces from = pieces(x), steps = pieces(op.operands[first + 1]),
           b = pieces(op.operands[first + 2]);
    expectSame(op.operands[first + 2], op.operands[first + 3]);
    expect(part(from, 0, 3) == part(steps, 0, 3) &&
               part(from, 0, 3) == part(b, 0, 3),
           "leading dimensions differ");
    for (size_t i = 4; i < 7; ++i)
      expect(pieces(op.operands[first + i]) == part(steps, 2, 2),
             "the parameters are another's");
    expectPrefix(x, op.operands[first + 7]);
  }

  /// `values` is what a serving step keeps of each sequence: [sequences,
  /// groups, channels, ...].
  void kept(ValueId x, ValueId values) {
    Pieces from = pieces(x), each = pieces(values);
    expect(from.size() == 4 && each.size() == 4 && each[1] == from[2] &&
               each[2] == from[3],
           "the states are another's");
  }

  /// The first `count` results are the cotangents of operands from `first` on.
  void cotangents(size_t first, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      ValueId result = op.results[i];
      expectSame(op.operands[first + i], result);
      if (result != ValueId::none)
        expect(partial(result).empty(), "the result is a partial sum");
    }
  }

  /// The results from number `results` on are the gradients of operands from
  /// `first` on.
  void gradients(size_t first, size_t results) {
    for (size_t i = results; i < op.results.size(); ++i) {
      if (op.results[i] == ValueId::none)
        continue;
      expectSame(op.operands[first + i - results], op.results[i]);
      expectSumOver(op.results[i], op.operands[0], 2);
    }
  }
};

} // namespace

std::vector<std::string> findInStateSpace(const Module& module, const Op& op) {
  return StateSpaceVerifier(module, op).run();
}

} // namespace recipec::ir
