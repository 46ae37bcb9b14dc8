// The verifier's rules for elementwise ops and dropout; see Verify.h.

#include "compiler/ir/OpVerifier.h"
#include "runtime/ops/ActivationOps.h"

namespace recipec::ir {

namespace {

class ActivationVerifier : OpVerifier {
public:
  ActivationVerifier(const Module& module, const Op& op)
      : OpVerifier(module, op) {}

  std::vector<std::string> run() {
    switch (ops::ActivationOp(op.kind)) {
    case ops::ActivationOp::Dropout:
    case ops::ActivationOp::Scale:
      expectLinearIn(1);
      break;
    case ops::ActivationOp::Add:
      expectSameType(op.operands[0], op.operands[1]);
      expectLinearIn(2);
      break;
    case ops::ActivationOp::Silu:
    case ops::ActivationOp::SiluBackward:
    case ops::ActivationOp::Gelu:
    case ops::ActivationOp::GeluBackward:
    case ops::ActivationOp::Relu2:
    case ops::ActivationOp::Relu2Backward:
    case ops::ActivationOp::Sigmoid:
    case ops::ActivationOp::SigmoidBackward:
    case ops::ActivationOp::Softcap:
    case ops::ActivationOp::SoftcapBackward:
    case ops::ActivationOp::Swiglu:
    case ops::ActivationOp::SwigluBackward:
    case ops::ActivationOp::Mul:
      elementwise();
      break;
    }
    return std::move(findings);
  }

private:
  /// All operands and results have the same dimensions and type; none is a
  /// partial sum.
  void elementwise() {
    expectWhole();
    for (ValueId operand : op.operands) {
      expectSame(operand, op.results[0]);
      expectSameType(operand, op.results[0]);
    }
    for (ValueId result : op.results) {
      expectSame(result, op.results[0]);
      expect(partial(result).empty(), "the result is a partial sum");
    }
  }
};

} // namespace

std::vector<std::string> findInActivations(const Module& module, const Op& op) {
  return ActivationVerifier(module, op).run();
}

} // namespace recipec::ir
