// The gradients of ops that slice and concatenate. All are linear and need
// no value of the forward pass.

#include "compiler/passes/differentiate/Cotangents.h"
#include "runtime/ops/MoveOps.h"
#include "runtime/ops/OpKind.h"

namespace recipec::passes {

using ir::AxisSet;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

namespace {

/// Reduces a partial sum first, because padding makes it larger.
void differentiateNarrow(Cotangents& rules, const Op& op, ValueId dy) {
  dy = rules.complete(dy, op);
  ValueId dx = rules.makeCotangent(op.operands[0]);
  Op& made = rules.emit(opFor(op, OpKind::Pad, {dy}, {dx}));
  made.attributes = op.attributes;
  rules.push(op.operands[0], dx, op);
}

void differentiatePad(Cotangents& rules, const Op& op, ValueId dy) {
  ValueId dx =
      rules.makeCotangent(op.operands[0], rules.shardingOf(dy).partial);
  Op& made = rules.emit(opFor(op, OpKind::Narrow, {dy}, {dx}));
  made.attributes = op.attributes;
  rules.push(op.operands[0], dx, op);
}

void differentiateConcat(Cotangents& rules, const Op& op, ValueId dy) {
  int64_t begin = 0;
  for (ValueId x : op.operands) {
    if (rules.isActive(x)) {
      ValueId dx = rules.makeCotangent(x, rules.shardingOf(dy).partial);
      rules.emit(opFor(op, OpKind::Narrow, {dy}, {dx})).attributes["begin"] =
          begin;
      rules.push(x, dx, op);
    }
    begin += rules.widthOf(x);
  }
}

/// Each rank sums over its own copies.
void differentiateBroadcast(Cotangents& rules, const Op& op, ValueId dy) {
  const ir::Sharding& sharding = rules.shardingOf(dy);
  AxisSet over = sharding.dims[sharding.dims.size() - 2];
  ValueId dx = rules.makeCotangent(op.operands[0], sharding.partial | over);
  rules.emit(opFor(op, OpKind::BroadcastBackward, {dy}, {dx}));
  rules.push(op.operands[0], dx, op);
}

} // namespace

void differentiateMove(Cotangents& rules, const Op& op, ValueId dy) {
  switch (ops::ForwardMoveOp(op.kind)) {
  case ops::ForwardMoveOp::Narrow:
    return differentiateNarrow(rules, op, dy);
  case ops::ForwardMoveOp::Pad:
    return differentiatePad(rules, op, dy);
  case ops::ForwardMoveOp::Concat:
    return differentiateConcat(rules, op, dy);
  case ops::ForwardMoveOp::Broadcast:
    return differentiateBroadcast(rules, op, dy);
  }
}

} // namespace recipec::passes
