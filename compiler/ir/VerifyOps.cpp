// The verifier's rules for types and layouts; see Verify.h.
//
// An op's operands and results agree in dimensions, in how those are split, and
// in what is a partial sum. Only ops that are linear in an operand let a
// partial sum of it through. Ops that have much in common are verified in files
// of their own.

#include "compiler/ir/OpVerifier.h"

#include <iterator>

namespace recipec::ir {

namespace {

class OpsVerifier : OpVerifier {
public:
  OpsVerifier(const Module& module, const Op& op) : OpVerifier(module, op) {}

  std::vector<std::string> run() {
    types();
    return std::move(findings);
  }

private:
  void types() {
    switch (op.kind) {
    case OpKind::Embedding:
      return embedding();
    case OpKind::EmbeddingBackward:
      return embeddingBackward();
    case OpKind::Linear:
    case OpKind::LinearDgrad:
    case OpKind::LinearWgrad:
    case OpKind::LinearAdd:
    case OpKind::LinearJoint:
    case OpKind::LinearJointDgrad:
    case OpKind::LinearJointWgrad:
      return add(findInLinears(module, op));
    case OpKind::Quantize:
    case OpKind::ScaledProduct:
    case OpKind::ScaledProductAdd:
    case OpKind::SwigluQuantize:
    case OpKind::SwigluBackwardQuantize:
    case OpKind::Transpose:
    case OpKind::PartMaximum:
    case OpKind::QuantizePart:
      return add(findInQuantized(module, op));
    case OpKind::AddBias:
    case OpKind::BiasBackward:
    case OpKind::RmsNorm:
    case OpKind::LayerNorm:
    case OpKind::RmsNormBackward:
    case OpKind::LayerNormBackward:
      return add(findInNorms(module, op));
    case OpKind::PositionScale:
    case OpKind::Rope:
      expectPrefix(op.operands[0], op.operands[1]);
      return linearIn(1);
    case OpKind::Dropout:
    case OpKind::Scale:
      return linearIn(1);
    case OpKind::Add:
      expectSameType(op.operands[0], op.operands[1]);
      return linearIn(2);
    case OpKind::Attention:
    case OpKind::AttentionCached:
    case OpKind::AttentionBackward:
    case OpKind::RingAttention:
    case OpKind::RingAttentionBackward:
      return add(findInAttention(module, op));
    case OpKind::Silu:
    case OpKind::Gelu:
    case OpKind::Relu2:
    case OpKind::Softcap:
    case OpKind::Swiglu:
    case OpKind::Mul:
    case OpKind::SiluBackward:
    case OpKind::GeluBackward:
    case OpKind::Relu2Backward:
    case OpKind::SoftcapBackward:
    case OpKind::SwigluBackward:
      return elementwise();
    case OpKind::Narrow:
    case OpKind::Pad:
    case OpKind::Concat:
    case OpKind::Broadcast:
    case OpKind::BroadcastBackward:
      return add(findInParts(module, op));
    case OpKind::Route:
    case OpKind::BalanceExperts:
    case OpKind::PackRows:
    case OpKind::UnpackRows:
    case OpKind::RouteBackward:
    case OpKind::Dispatch:
    case OpKind::DispatchBackward:
    case OpKind::Combine:
    case OpKind::CombineBackward:
    case OpKind::ExpertLinear:
    case OpKind::ExpertLinearDgrad:
    case OpKind::ExpertLinearWgrad:
      return add(findInExperts(module, op));
    case OpKind::CausalConv:
    case OpKind::CausalConvBackward:
    case OpKind::StateScan:
    case OpKind::StateScanBackward:
      return add(findInStateSpace(module, op));
    case OpKind::Cast:
      return expectSame(op.operands[0], op.results[0]);
    case OpKind::Zero:
      return;
    case OpKind::View:
      return view();
    case OpKind::SoftmaxMax:
    case OpKind::SoftmaxSum:
    case OpKind::SoftmaxStats:
    case OpKind::Nll:
    case OpKind::CrossEntropyBackward:
      return add(findInLoss(module, op));
    case OpKind::CopyBegin:
    case OpKind::CopyEnd:
    case OpKind::AllReduce:
    case OpKind::AllGather:
    case OpKind::AllGatherStart:
    case OpKind::AllGatherDone:
    case OpKind::ReduceScatter:
    case OpKind::ReduceScatterStart:
    case OpKind::ReduceScatterDone:
    case OpKind::Slice:
      return add(findInMoves(module, op));
    case OpKind::AllToAll:
      add(findInExperts(module, op));
      return add(findInMoves(module, op));
    case OpKind::SumSquares:
      return;
    case OpKind::AdamW:
      expectSame(op.operands[0], op.results[0]);
      expectSame(op.results[0], op.results[1]);
      expectSame(op.results[0], op.results[2]);
      return expectSame(op.results[0], op.results[3]);
    }
  }

  void add(std::vector<std::string> more) {
    std::move(more.begin(), more.end(), std::back_inserter(findings));
  }

  void embedding() {
    Pieces table = pieces(op.operands[1]);
    Pieces expected = pieces(op.operands[0]);
    expected.push_back(table.back());
    expectWhole();
    expect(pieces(op.results[0]) == expected, "dimensions differ");
    expect(partial(op.results[0]) == table.front().split,
           "rows elsewhere make no partial sum");
  }

  /// A sum over all tokens.
  void embeddingBackward() {
    if (op.results[0] == ValueId::none)
      return;
    Pieces dy = pieces(op.operands[1]);
    AxisSet summed = splitOf(part(dy, 0, dy.size() - 1));
    expect((partial(op.results[0]) & summed) == summed,
           "the partial sum is not that of the gradient");
  }

  /// All operands and results are alike; none is a partial sum.
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

  /// Like elementwise in the first `count` operands, and linear in them
  /// together: a partial sum of all of them is one of the result.
  void linearIn(size_t count) {
    expectWhole(count);
    for (size_t i = 0; i < count; ++i)
      expectAlike(op.operands[i], op.results[0]);
  }

  /// A run of a flat buffer, which is split and a sum over what it is.
  void view() {
    ValueId whole = op.operands[0], run = op.results[0];
    int64_t start = valueOf<int64_t>("start");
    expectSameType(whole, run);
    expect(partial(whole) == partial(run), "partial sums differ");
    expect(start >= 0 && start + localElements(module, run) <=
                             localElements(module, whole),
           "the run does not lie in its buffer");
  }
};

} // namespace

std::vector<std::string> findInOp(const Module& module, const Op& op) {
  return OpsVerifier(module, op).run();
}

} // namespace recipec::ir
