// The gradients of norms, which save the statistics of each row.

#include "compiler/passes/differentiate/Cotangents.h"
#include "runtime/ops/NormOps.h"
#include "runtime/ops/OpKind.h"

namespace recipec::passes {

namespace {

using ir::AxisSet;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

OpKind backwardOf(ops::ForwardNormOp op) {
  switch (op) {
  case ops::ForwardNormOp::RmsNorm:
    return OpKind::RmsNormBackward;
  case ops::ForwardNormOp::LayerNorm:
    return OpKind::LayerNormBackward;
  }
  return OpKind::RmsNormBackward;
}

} // namespace

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
  Op& made = rules.emit(
      opFor(op, backwardOf(ops::ForwardNormOp(op.kind)), std::move(operands),
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

} // namespace recipec::passes
