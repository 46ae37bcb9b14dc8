// The verifier's rules for matmuls with dense weights, embeddings and biases;
// see Verify.h.

#include "compiler/ir/OpVerifier.h"
#include "runtime/ops/DenseOps.h"
#include "runtime/ops/OpKind.h"

namespace recipec::ir {

namespace {

class DenseVerifier : OpVerifier {
public:
  DenseVerifier(const Module& module, const Op& op) : OpVerifier(module, op) {}

  std::vector<std::string> run() {
    switch (ops::DenseOp(op.kind)) {
    case ops::DenseOp::Linear:
      linear(op.operands[0], op.operands[1], op.results[0]);
      break;
    case ops::DenseOp::AdapterLinear:
      adapterLinear();
      break;
    case ops::DenseOp::LinearDgrad:
      dgrad(op.operands[0], op.operands[1], op.results[0]);
      break;
    case ops::DenseOp::LinearWgrad:
      wgrad(op.operands[0], op.operands[1], op.results[0]);
      break;
    case ops::DenseOp::LinearAdd:
      expectAlike(op.operands[2], op.results[0]);
      linear(op.operands[0], op.operands[1], op.results[0]);
      break;
    case ops::DenseOp::LinearJoint:
    case ops::DenseOp::LinearJointDgrad:
    case ops::DenseOp::LinearJointWgrad:
      joint();
      break;
    case ops::DenseOp::Embedding:
      embedding();
      break;
    case ops::DenseOp::EmbeddingBackward:
      embeddingBackward();
      break;
    case ops::DenseOp::AddBias:
      expectWhole();
      expectSame(op.operands[0], op.results[0]);
      expectSuffix(op.operands[0], op.operands[1]);
      break;
    case ops::DenseOp::BiasBackward:
      expectSuffixGradient(op.operands[0], op.results[0]);
      break;
    }
    return std::move(findings);
  }

private:
  void embedding() {
    Pieces table = pieces(op.operands[1]);
    Pieces expected = pieces(op.operands[0]);
    expected.push_back(table.back());
    expectWhole();
    expect(pieces(op.results[0]) == expected, "dimensions differ");
    expect(partial(op.results[0]) == table.front().split,
           "rows elsewhere make no partial sum");
  }

  /// The gradient sums over all tokens.
  void embeddingBackward() {
    if (op.results[0] == ValueId::none)
      return;
    Pieces dy = pieces(op.operands[1]);
    AxisSet summed = splitOf(part(dy, 0, dy.size() - 1));
    expect((partial(op.results[0]) & summed) == summed,
           "the partial sum is not that of the gradient");
  }

  /// x [lead..., k...], w [to..., k...], y [lead..., to...]. The number of
  /// dimensions in each part follows from the ranks of the three values.
  struct Matmul {
    size_t lead, to, k;
  };
  static Matmul matmulOf(size_t xs, size_t ws, size_t ys) {
    return {(xs + ys - ws) / 2, (ys + ws - xs) / 2, (xs + ws - ys) / 2};
  }

  Matmul product(ValueId x, ValueId w, ValueId y) {
    return product(pieces(x), pieces(w), pieces(y));
  }

  Matmul product(const Pieces& xs, const Pieces& ws, const Pieces& ys) {
    Matmul sizes = matmulOf(xs.size(), ws.size(), ys.size());
    bool agree = xs.size() == sizes.lead + sizes.k &&
                 ys.size() == sizes.lead + sizes.to &&
                 part(xs, sizes.lead, sizes.k) == part(ws, sizes.to, sizes.k) &&
                 part(ys, sizes.lead, sizes.to) == part(ws, 0, sizes.to) &&
                 part(xs, 0, sizes.lead) == part(ys, 0, sizes.lead);
    expect(agree, "dimensions differ");
    return sizes;
  }

  void linear(ValueId x, ValueId w, ValueId y) {
    Matmul sizes = product(x, w, y);
    AxisSet contracted = splitOf(part(pieces(w), sizes.to, sizes.k));
    expect(partial(w).empty(), "the weight is a partial sum");
    expect(partial(y) == (contracted | partial(x)),
           "the partial sum is not that of the contraction");
  }

  /// w [adapters, to..., k...], and adapters [lead...].
  void adapterLinear() {
    const ValueId x = op.operands[0], w = op.operands[1], y = op.results[0];
    const Pieces xs = pieces(x), all = pieces(w);
    const Pieces ws = part(all, 1, all.size() - 1);
    const Matmul sizes = product(xs, ws, pieces(y));
    expect(splitOf(part(all, 0, 1)).empty(), "the adapters are split");
    expect(pieces(op.operands[2]) == part(xs, 0, sizes.lead),
           "the adapters are not those of the tokens");
    expect(partial(y) == (splitOf(part(ws, sizes.to, sizes.k)) | partial(x)),
           "the partial sum is not that of the contraction");
  }

  void dgrad(ValueId dy, ValueId w, ValueId dx) {
    Matmul sizes = product(dx, w, dy);
    AxisSet contracted = splitOf(part(pieces(w), 0, sizes.to));
    expect(partial(dx) == (contracted | partial(dy)),
           "the partial sum is not that of the contraction");
  }

  /// A gradient sums over the leading dimensions: it is a partial sum over the
  /// axes that split them, and over those that its operands are partial sums
  /// over.
  void wgrad(ValueId x, ValueId dy, ValueId dw) {
    Matmul sizes = product(x, dw, dy);
    AxisSet needed =
        splitOf(part(pieces(x), 0, sizes.lead)) | partial(x) | partial(dy);
    expect((partial(dw) & needed) == needed,
           "the partial sum is not that of the gradient");
  }

  /// Checks an op of several matmuls: each follows the rules of its own kind.
  void joint() {
    for (size_t i = 0; i < 3; ++i) {
      const bool isDgrad = op.kind == OpKind::LinearJointDgrad;
      const ValueId own = op.operands[isDgrad ? i : i + 1];
      const ValueId other = isDgrad ? op.operands[3 + i] : op.results[i];
      expect((own == ValueId::none) == (other == ValueId::none),
             "a product lacks a part");
      if (own == ValueId::none || other == ValueId::none)
        continue;
      if (isDgrad)
        dgrad(own, other, op.results[0]);
      else if (op.kind == OpKind::LinearJoint)
        linear(op.operands[0], own, other);
      else
        wgrad(op.operands[0], own, other);
    }
  }
};

} // namespace

std::vector<std::string> findInDense(const Module& module, const Op& op) {
  return DenseVerifier(module, op).run();
}

} // namespace recipec::ir
