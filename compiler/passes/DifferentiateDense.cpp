// The rules of activations, norms, biases and rotary positions.
//
// None of them mixes ranks. What an activation's slope depends on is its
// operand, which is kept; a norm also keeps what it knows of each row.

#include "compiler/passes/Cotangents.h"

#include <cassert>

namespace recipec::passes {

namespace {

using ir::AxisSet;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

/// What splits all but the last `width` dimensions.
AxisSet splitOfTokens(const ir::Sharding& sharding, size_t width) {
  return splitOf(sharding, 0, sharding.dims.size() - width);
}

OpKind backwardOf(OpKind kind) {
  switch (kind) {
  case OpKind::Silu:
    return OpKind::SiluBackward;
  case OpKind::Gelu:
    return OpKind::GeluBackward;
  case OpKind::Relu2:
    return OpKind::Relu2Backward;
  case OpKind::Softcap:
    return OpKind::SoftcapBackward;
  case OpKind::RmsNorm:
    return OpKind::RmsNormBackward;
  case OpKind::LayerNorm:
    return OpKind::LayerNormBackward;
  default:
    assert(false && "an op whose backward is another op");
    return kind;
  }
}

} // namespace

void differentiateUnary(Cotangents& rules, const Op& op, ValueId dy) {
  dy = rules.complete(dy, op);
  ValueId x = op.operands[0];
  ValueId dx = rules.makeCotangent(x);
  Op& made =
      rules.emit(opFor(op, backwardOf(op.kind), {dy, rules.read(x)}, {dx}));
  made.attributes = op.attributes;
  rules.push(x, dx, op);
}

void differentiateNorm(Cotangents& rules, const Op& op, ValueId dy) {
  ValueId x = op.operands[0], w = op.operands[1];
  bool isTrained = w != ValueId::none && rules.isTrained(w);
  dy = rules.complete(dy, op);
  ValueId sum = rules.isActive(x) ? rules.sumOf(x, dy, {}) : ValueId::none;
  bool isAccumulated = sum != ValueId::none;
  ValueId dx = isAccumulated ? sum : rules.makeCotangent(x);
  std::vector<ValueId> operands = {dy, rules.read(x), w};
  for (size_t i = 1; i < op.results.size(); ++i)
    operands.push_back(rules.read(op.results[i]));
  Op& made =
      rules.emit(opFor(op, backwardOf(op.kind), std::move(operands),
                       {dx, isTrained ? rules.gradientOf(w) : ValueId::none}));
  made.attributes = op.attributes;
  if (isAccumulated)
    made.attributes["accumulate"] = true;
  if (isTrained)
    rules.contribute(w, splitOfTokens(rules.shardingOf(dy),
                                      rules.shardingOf(w).dims.size()));
  if (rules.isActive(x) && !isAccumulated)
    rules.push(x, dx, op);
}

/// A rotation back is the transpose.
void differentiateRope(Cotangents& rules, const Op& op, ValueId dy) {
  dy = rules.complete(dy, op);
  ValueId dx = rules.makeCotangent(op.operands[0]);
  Op& made = rules.emit(
      opFor(op, OpKind::Rope, {dy, rules.read(op.operands[1])}, {dx}));
  made.attributes = op.attributes;
  made.attributes["inverse"] = true;
  rules.push(op.operands[0], dx, op);
}

/// What is added has the cotangent of the sum. The bias gets it from every
/// token, and from partial sums a partial sum.
void differentiateAddBias(Cotangents& rules, const Op& op, ValueId dy) {
  ValueId x = op.operands[0], b = op.operands[1];
  if (rules.isTrained(b)) {
    rules.emit(opFor(op, OpKind::BiasBackward, {dy}, {rules.gradientOf(b)}));
    const ir::Sharding& sharding = rules.shardingOf(dy);
    size_t width = rules.shardingOf(b).dims.size();
    rules.contribute(b, splitOfTokens(sharding, width) | sharding.partial);
  }
  if (rules.isActive(x))
    rules.push(x, dy, op);
}

} // namespace recipec::passes
