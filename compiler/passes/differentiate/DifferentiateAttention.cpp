// The gradients of attention and rotary positions.

#include "compiler/passes/differentiate/Cotangents.h"
#include "runtime/ops/AttentionOps.h"
#include "runtime/ops/OpKind.h"

namespace recipec::passes {

namespace {

using ir::AxisSet;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

/// The transpose of a rotation is the inverse rotation.
void differentiateRope(Cotangents& rules, const Op& op, ValueId dy) {
  dy = rules.complete(dy, op);
  ValueId dx = rules.makeCotangent(op.operands[0]);
  Op& made = rules.emit(
      opFor(op, OpKind::Rope, {dy, rules.read(op.operands[1])}, {dx}));
  made.attributes = op.attributes;
  made.attributes["inverse"] = true;
  rules.push(op.operands[0], dx, op);
}

void differentiateHeads(Cotangents& rules, const Op& op, ValueId dy) {
  dy = rules.complete(dy, op);
  std::vector<ValueId> operands = {dy, rules.read(op.results[0])};
  std::vector<ValueId> results;
  // The queries of each rank contribute a part to the keys that they attend to.
  AxisSet parts = rules.shardingOf(op.operands[0]).dims[1] -
                  rules.shardingOf(op.operands[1]).dims[1];
  for (size_t i = 0; i < 3; ++i) {
    operands.push_back(rules.read(op.operands[i]));
    results.push_back(
        rules.makeCotangent(op.operands[i], i == 0 ? AxisSet() : parts));
  }
  operands.push_back(rules.read(op.results[1]));
  for (size_t i = 3; i < op.operands.size(); ++i)
    operands.push_back(rules.read(op.operands[i]));
  OpKind kind = op.kind == OpKind::Attention ? OpKind::AttentionBackward
                                             : OpKind::RingAttentionBackward;
  Op& made = rules.emit(opFor(op, kind, std::move(operands), results));
  made.attributes = op.attributes;
  made.group = op.group;
  for (size_t i = 0; i < 3; ++i)
    if (rules.isActive(op.operands[i]))
      rules.push(op.operands[i], results[i], op);
}

} // namespace

void differentiateAttention(Cotangents& rules, const Op& op, ValueId dy) {
  switch (ops::ForwardAttentionOp(op.kind)) {
  case ops::ForwardAttentionOp::Rope:
    return differentiateRope(rules, op, dy);
  case ops::ForwardAttentionOp::PositionScale:
    return differentiateOwnTranspose(rules, op, dy);
  case ops::ForwardAttentionOp::Attention:
  case ops::ForwardAttentionOp::RingAttention:
    return differentiateHeads(rules, op, dy);
  }
}

} // namespace recipec::passes
