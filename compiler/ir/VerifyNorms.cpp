// The verifier's rules for biases and norms; see Verify.h. Their parameters
// have the last dimensions of what they are applied to, and lie as those do.

#include "compiler/ir/OpVerifier.h"

namespace recipec::ir {

namespace {

class NormVerifier : OpVerifier {
public:
  NormVerifier(const Module& module, const Op& op) : OpVerifier(module, op) {}

  std::vector<std::string> run() {
    switch (op.kind) {
    case OpKind::AddBias:
      expectWhole();
      expectSame(op.operands[0], op.results[0]);
      expectSuffix(op.operands[0], op.operands[1]);
      break;
    case OpKind::BiasBackward:
      gradient(op.operands[0], op.results[0]);
      break;
    case OpKind::RmsNorm:
    case OpKind::LayerNorm:
      norm();
      break;
    case OpKind::RmsNormBackward:
    case OpKind::LayerNormBackward:
      normBackward();
      break;
    default:
      expect(false, "the op is no norm");
    }
    return std::move(findings);
  }

private:
  /// Statistics are those of rows; a weight may tell some of them apart.
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
      gradient(op.operands[0], op.results[1]);
  }

  /// dy [lead..., dims...], dw [dims...].
  void gradient(ValueId dy, ValueId dw) {
    expectSuffix(dy, dw);
    size_t all = module[dy].dims.size(), last = module[dw].dims.size();
    expectSumOver(dw, dy, all - std::min(all, last));
  }
};

} // namespace

std::vector<std::string> findInNorms(const Module& module, const Op& op) {
  return NormVerifier(module, op).run();
}

} // namespace recipec::ir
