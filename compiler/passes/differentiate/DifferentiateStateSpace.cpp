// The rules of state spaces. No op mixes ranks, because sequences are not
// split. The backward scan restarts from the states that were saved before each
// chunk.

#include "compiler/passes/differentiate/Cotangents.h"
#include "runtime/ops/OpKind.h"
#include "runtime/ops/StateSpaceOps.h"

namespace recipec::passes {

namespace {

using ir::AxisSet;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

/// The axes that split the samples, over which gradients of parameters are
/// sums.
AxisSet splitOfSamples(const Cotangents& rules, ValueId dy) {
  return rules.shardingOf(dy).dims[0];
}

ValueId gradientOfTrained(const Cotangents& rules, ValueId weight) {
  return rules.isTrained(weight) ? rules.gradientOf(weight) : ValueId::none;
}

void differentiateCausalConv(Cotangents& rules, const Op& op, ValueId dy) {
  ValueId x = op.operands[0], w = op.operands[1];
  dy = rules.complete(dy, op);
  ValueId dx = rules.isActive(x) ? rules.makeCotangent(x) : ValueId::none;
  rules.emit(opFor(op, OpKind::CausalConvBackward,
                   {dy, rules.read(x), w, rules.read(op.operands[2])},
                   {dx, gradientOfTrained(rules, w)}));
  if (rules.isTrained(w))
    rules.contribute(w, splitOfSamples(rules, dy));
  if (dx != ValueId::none)
    rules.push(x, dx, op);
}

void differentiateStateScan(Cotangents& rules, const Op& op, ValueId dy) {
  dy = rules.complete(dy, op);
  std::vector<ValueId> operands = {dy}, results;
  for (ValueId operand : op.operands)
    operands.push_back(rules.read(operand));
  operands.push_back(rules.read(op.results[1]));
  for (size_t i = 0; i < 4; ++i)
    results.push_back(rules.makeCotangent(op.operands[i]));
  for (size_t i = 4; i < 7; ++i)
    results.push_back(gradientOfTrained(rules, op.operands[i]));
  Op& made = rules.emit(
      opFor(op, OpKind::StateScanBackward, std::move(operands), results));
  made.attributes = op.attributes;
  for (size_t i = 4; i < 7; ++i)
    if (rules.isTrained(op.operands[i]))
      rules.contribute(op.operands[i], splitOfSamples(rules, dy));
  for (size_t i = 0; i < 4; ++i)
    if (rules.isActive(op.operands[i]))
      rules.push(op.operands[i], results[i], op);
}

} // namespace

void differentiateStateSpace(Cotangents& rules, const Op& op, ValueId dy) {
  switch (ops::ForwardStateSpaceOp(op.kind)) {
  case ops::ForwardStateSpaceOp::CausalConv:
    return differentiateCausalConv(rules, op, dy);
  case ops::ForwardStateSpaceOp::StateScan:
    return differentiateStateScan(rules, op, dy);
  }
}

} // namespace recipec::passes
