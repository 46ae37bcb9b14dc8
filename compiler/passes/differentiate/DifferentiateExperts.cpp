// The rules of route, dispatch, combine and the packing of rows.
//
// Dispatch and combine are each other's transposes, with gates as a second
// operand. Choices and rows are integers and have no cotangents. A router also
// affects the loss directly through the balancing losses, so it has a gradient
// even when nothing reads its gates. GateGradients.h has the usual gradient of
// combine's gates.

#include "compiler/passes/differentiate/Cotangents.h"
#include "runtime/ops/ExpertOps.h"
#include "runtime/ops/OpKind.h"

namespace recipec::passes {

namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

ValueId readOptional(Cotangents& rules, ValueId value) {
  return value == ValueId::none ? value : rules.read(value);
}

/// The common rule of dispatch (`value` is x) and combine (`value` is y).
void differentiateRows(Cotangents& rules, const Op& op, OpKind backward,
                       ValueId rows, ValueId dy, bool hasGateGradient) {
  dy = rules.complete(dy, op);
  ValueId value = op.operands[0], gates = op.operands[2];
  ValueId factor = hasGateGradient ? rules.read(value) : ValueId::none;
  ValueId dvalue = rules.makeCotangent(value);
  ValueId dgates = hasGateGradient ? rules.makeCotangent(gates) : ValueId::none;
  rules.emit(opFor(op, backward,
                   {dy, rules.read(rows), factor, readOptional(rules, gates)},
                   {dvalue, dgates}));
  if (rules.isActive(value))
    rules.push(value, dvalue, op);
  if (dgates != ValueId::none)
    rules.push(gates, dgates, op);
}

bool hasActiveGates(const Cotangents& rules, const Op& op) {
  return op.operands[2] != ValueId::none && rules.isActive(op.operands[2]);
}

void differentiateDispatch(Cotangents& rules, const Op& op, ValueId dy) {
  differentiateRows(rules, op, OpKind::DispatchBackward, op.results[1], dy,
                    hasActiveGates(rules, op));
}

void differentiateCombine(Cotangents& rules, const Op& op, ValueId dy) {
  differentiateRows(rules, op, OpKind::CombineBackward, op.operands[1], dy,
                    hasActiveGates(rules, op) && !rules.hasGatePaths(op));
}

/// Packing and unpacking are each other's transposes.
void differentiatePacking(Cotangents& rules, const Op& op, ValueId dy) {
  ValueId x = op.operands[0], counts = rules.read(op.operands[1]);
  ValueId dx = rules.makeCotangent(x, rules.shardingOf(dy).partial);
  bool isPack = op.kind == OpKind::PackRows;
  std::vector<ValueId> results = {dx};
  if (!isPack)
    results.resize(3, ValueId::none);
  Op& made =
      rules.emit(opFor(op, isPack ? OpKind::UnpackRows : OpKind::PackRows,
                       {dy, counts}, std::move(results)));
  made.attributes = op.attributes;
  rules.push(x, dx, op);
}

} // namespace

void differentiateRoute(Cotangents& rules, const Op& op) {
  ValueId logits = op.operands[0], dgates = rules.take(op.results[1]);
  const ops::RouteAttributes route(op.attributes);
  bool isBalanced =
      op.results[2] != ValueId::none && (route.auxLoss > 0 || route.zLoss > 0);
  if (!rules.isActive(logits) || (dgates == ValueId::none && !isBalanced))
    return;
  if (dgates != ValueId::none)
    dgates = rules.complete(dgates, op);
  std::vector<ValueId> operands = {dgates};
  for (ValueId value :
       {logits, op.operands[1], op.results[0], op.operands[3], op.operands[4]})
    operands.push_back(readOptional(rules, value));
  ValueId dlogits = rules.makeCotangent(logits);
  Op& made = rules.emit(
      opFor(op, OpKind::RouteBackward, std::move(operands), {dlogits}));
  made.attributes = op.attributes;
  made.attributes.erase("share");
  made.attributes.erase("correction_rate");
  rules.push(logits, dlogits, op);
}

void differentiateExperts(Cotangents& rules, const Op& op, ValueId dy) {
  switch (ops::ForwardExpertOp(op.kind)) {
  case ops::ForwardExpertOp::Route:
    return differentiateRoute(rules, op);
  case ops::ForwardExpertOp::Dispatch:
    return differentiateDispatch(rules, op, dy);
  case ops::ForwardExpertOp::PackRows:
  case ops::ForwardExpertOp::UnpackRows:
    return differentiatePacking(rules, op, dy);
  case ops::ForwardExpertOp::ExpertLinear:
    return differentiateExpertLinear(rules, op, dy);
  case ops::ForwardExpertOp::Combine:
    return differentiateCombine(rules, op, dy);
  }
}

} // namespace recipec::passes
