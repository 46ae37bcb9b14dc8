// The verifier's rules for the loss; see Verify.h.

#include "compiler/ir/OpVerifier.h"
#include "runtime/ops/LossOps.h"
#include "runtime/ops/OpKind.h"

namespace recipec::ir {

namespace {

class LossVerifier : OpVerifier {
public:
  LossVerifier(const Module& module, const Op& op) : OpVerifier(module, op) {}

  std::vector<std::string> run() {
    expectWhole();
    switch (ops::LossOp(op.kind)) {
    case ops::LossOp::CrossEntropyBackward:
      expectSame(op.operands[0], op.results[0]);
      break;
    case ops::LossOp::SoftmaxMax:
    case ops::LossOp::SoftmaxSum:
    case ops::LossOp::SoftmaxStats:
    case ops::LossOp::Nll:
      loss();
      break;
    }
    return std::move(findings);
  }

private:
  void loss() {
    Pieces first = pieces(op.operands[0]);
    AxisSet summed = op.kind == OpKind::Nll ? splitOf(first) : AxisSet();
    if (op.kind == OpKind::SoftmaxSum)
      summed = first.back().split;
    // Stages without the loss contribute nothing to the sum.
    AxisSet stages =
        module.stages > 1 ? AxisSet(findAxis(module, "pp")) : AxisSet();
    expect(partial(op.results[0]) - stages == summed,
           "the partial sum is not that of the loss");
    if (op.kind == OpKind::SoftmaxStats) {
      expect(first.back().split.empty(), "the vocabulary is split");
      expectPrefix(op.operands[0], op.operands[1]);
      return expectPrefix(op.results[1], op.results[0]);
    }
    if (op.kind == OpKind::SoftmaxSum)
      expectPrefix(op.operands[0], op.operands[1]);
    if (op.kind == OpKind::Nll)
      expectPrefix(op.operands[1], op.operands[0]);
  }
};

} // namespace

std::vector<std::string> findInLoss(const Module& module, const Op& op) {
  return LossVerifier(module, op).run();
}

} // namespace recipec::ir
