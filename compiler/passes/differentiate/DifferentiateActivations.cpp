// The gradients of elementwise ops. The derivative depends on the operand,
// which is saved.

#include "compiler/passes/differentiate/Cotangents.h"
#include "compiler/passes/differentiate/GateGradients.h"
#include "runtime/ops/ActivationOps.h"
#include "runtime/ops/OpKind.h"

namespace recipec::passes {

namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

void differentiateUnary(Cotangents& rules, const Op& op, OpKind backward,
                        ValueId dy) {
  dy = rules.complete(dy, op);
  ValueId x = op.operands[0];
  ValueId dx = rules.makeCotangent(x);
  Op& made = rules.emit(opFor(op, backward, {dy, rules.read(x)}, {dx}));
  made.attributes = op.attributes;
  rules.push(x, dx, op);
}

void differentiateSwiglu(Cotangents& rules, const Op& op, ValueId dy) {
  dy = rules.complete(dy, op);
  ValueId gate = op.operands[0], up = op.operands[1];
  ValueId dgate = rules.makeCotangent(gate), dup = rules.makeCotangent(up);
  const std::vector<ValueId> operands = {dy, rules.read(gate), rules.read(up)};
  if (const GatePath* path = rules.gatePathFrom(op.results[0])) {
    const ValueId dots =
        rules.makeDots(op.results[0], splitOfRows(rules, op.results[0]));
    rules.emit(
        opFor(op, OpKind::SwigluBackwardDots, operands, {dgate, dup, dots}));
    differentiateGatesByDots(rules, *path, dots);
  } else {
    rules.emit(opFor(op, OpKind::SwigluBackward, operands, {dgate, dup}));
  }
  if (rules.isActive(gate))
    rules.push(gate, dgate, op);
  if (rules.isActive(up))
    rules.push(up, dup, op);
}

void differentiateMul(Cotangents& rules, const Op& op, ValueId dy) {
  dy = rules.complete(dy, op);
  for (size_t i = 0; i < 2; ++i) {
    ValueId x = op.operands[i];
    if (!rules.isActive(x))
      continue;
    ValueId dx = rules.makeCotangent(x);
    rules.emit(
        opFor(op, OpKind::Mul, {dy, rules.read(op.operands[1 - i])}, {dx}));
    rules.push(x, dx, op);
  }
}

/// Both operands have the cotangent of the sum. It is retained for the second
/// operand while the first takes it.
void differentiateAdd(Cotangents& rules, const Op& op, ValueId dy) {
  ValueId left = op.operands[0], right = op.operands[1];
  if (!rules.isActive(left) || !rules.isActive(right))
    return rules.push(rules.isActive(left) ? left : right, dy, op);
  dy = rules.complete(dy, op);
  rules.retain(dy);
  rules.push(left, dy, op);
  rules.release(dy);
  rules.push(right, dy, op);
}

} // namespace

void differentiateActivation(Cotangents& rules, const Op& op, ValueId dy) {
  switch (ops::ForwardActivationOp(op.kind)) {
  case ops::ForwardActivationOp::Silu:
    return differentiateUnary(rules, op, OpKind::SiluBackward, dy);
  case ops::ForwardActivationOp::Gelu:
    return differentiateUnary(rules, op, OpKind::GeluBackward, dy);
  case ops::ForwardActivationOp::Relu2:
    return differentiateUnary(rules, op, OpKind::Relu2Backward, dy);
  case ops::ForwardActivationOp::Sigmoid:
    return differentiateUnary(rules, op, OpKind::SigmoidBackward, dy);
  case ops::ForwardActivationOp::Softcap:
    return differentiateUnary(rules, op, OpKind::SoftcapBackward, dy);
  case ops::ForwardActivationOp::Swiglu:
    return differentiateSwiglu(rules, op, dy);
  case ops::ForwardActivationOp::Mul:
    return differentiateMul(rules, op, dy);
  case ops::ForwardActivationOp::Add:
    return differentiateAdd(rules, op, dy);
  case ops::ForwardActivationOp::Scale:
  case ops::ForwardActivationOp::Dropout:
    return differentiateOwnTranspose(rules, op, dy);
  }
}

/// The rule of ops that equal their transpose: a scale, a mask.
void differentiateOwnTranspose(Cotangents& rules, const Op& op, ValueId dy) {
  ValueId dx =
      rules.makeCotangent(op.operands[0], rules.shardingOf(dy).partial);
  std::vector<ValueId> operands = op.operands;
  operands[0] = dy;
  for (size_t i = 1; i < operands.size(); ++i)
    operands[i] = rules.read(operands[i]);
  Op& made = rules.emit(opFor(op, op.kind, std::move(operands), {dx}));
  made.attributes = op.attributes;
  rules.push(op.operands[0], dx, op);
}

} // namespace recipec::passes
