// The verifier's rules for norms; see Verify.h. Norm weights have the last
// dimensions of the operand, with the same sharding.

#include "compiler/ir/OpVerifier.h"
#include "runtime/ops/NormOps.h"

namespace recipec::ir {

namespace {

class NormVerifier : OpVerifier {
public:
  NormVerifier(const Module& module, const Op& op) : OpVerifier(module, op) {}

  std::vector<std::string> run() {
    switch (ops::NormOp(op.kind)) {
    case ops::NormOp::RmsNorm:
    case ops::NormOp::LayerNorm:
      norm();
      break;
    case ops::NormOp::RmsNormBackward:
    case ops::NormOp::LayerNormBackward:
      normBackward();
      break;
    }
    return std::move(findings);
  }

private:
  /// Statistics are per row; the weight may span several of the last
  /// dimensions.
  void norm() {
    expectWhole();
    ValueId x = op.operands[0], weight = op.operands[1];
    expectSame(x, op.results[0]);
    if (weight != ValueId::none)
      expectSuffix(x, weight);
    Pieces rows = pieces(x);
    expect(rows.back().split.empty(), "the normalised dimension is split");
    rows.pop_back();
    for (size_t i = 1; i < op.results.size(); ++i)
      expect(pieces(op.results[i]) == rows, "dimensions differ");
  }

  void normBackward() {
    expectWhole();
    expectSame(op.operands[0], op.operands[1]);
    expectSame(op.operands[0], op.results[0]);
    if (op.results[1] != ValueId::none)
      expectSuffixGradient(op.operands[0], op.results[1]);
  }
};

} // namespace

std::vector<std::string> findInNorms(const Module& module, const Op& op) {
  return NormVerifier(module, op).run();
}

} // namespace recipec::ir
