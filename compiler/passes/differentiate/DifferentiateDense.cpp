// The gradients of ops with a weight matrix: embedding, linear and the experts'
// linear; and of biases.
//
// The gradient of the weights (wgrad) sums over tokens, so it is a partial sum
// over the axes that split them. The gradient of x (dgrad) is a partial sum
// over the axes that split the dimensions of y that x lacks. Both are linear in
// dy and accept a partial sum of it when possible.

#include "compiler/passes/differentiate/Cotangents.h"
#include "runtime/ops/DenseOps.h"
#include "runtime/ops/OpKind.h"

#include <cassert>

#include <utility>

namespace recipec::passes {

namespace {

using ir::AxisSet;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

/// Reduces dy if its matmuls with x and w require it: a matmul of two partial
/// sums is not a partial sum, and an axis that splits the weight cannot also be
/// summed over in the result.
ValueId completeForMatmuls(Cotangents& rules, const Op& op, ValueId dy) {
  AxisSet taken = rules.shardingOf(op.operands[0]).partial |
                  splitFrom(rules.shardingOf(op.operands[1]), 0);
  bool isTaken = !(taken & rules.shardingOf(dy).partial).empty();
  return isTaken ? rules.complete(dy, op) : dy;
}

/// `operands` start with x and dy; the axes `tokens` split the tokens of both.
void emitWgrad(Cotangents& rules, const Op& op, OpKind kind,
               std::vector<ValueId> operands, AxisSet tokens) {
  ValueId w = op.operands[1];
  AxisSet partial = tokens | rules.shardingOf(operands[0]).partial |
                    rules.shardingOf(operands[1]).partial;
  Op& made =
      rules.emit(opFor(op, kind, std::move(operands), {rules.gradientOf(w)}));
  made.attributes = op.attributes;
  rules.contribute(w, partial);
}

/// `operands` start with dy; x lacks its dimensions from `from` on.
void emitDgrad(Cotangents& rules, const Op& op, OpKind kind,
               std::vector<ValueId> operands, size_t from) {
  ValueId x = op.operands[0], dy = operands[0];
  const ir::Sharding& sharding = rules.shardingOf(dy);
  AxisSet partial = splitFrom(sharding, from) | sharding.partial;
  ValueId sum = rules.sumOf(x, dy, partial);
  bool isAccumulated = sum != ValueId::none;
  ValueId dx = isAccumulated ? sum : rules.makeCotangent(x, partial);
  Op& made = rules.emit(opFor(op, kind, std::move(operands), {dx}));
  made.attributes = op.attributes;
  if (isAccumulated)
    made.attributes["accumulate"] = true;
  else
    rules.push(x, dx, op);
}

/// The number of leading dimensions that x and y of a linear share.
size_t leadOf(const Cotangents& rules, const Op& op) {
  auto dims = [&](ValueId value) { return rules.program()[value].dims.size(); };
  return (dims(op.operands[0]) + dims(op.results[0]) - dims(op.operands[1])) /
         2;
}

void differentiateEmbedding(Cotangents& rules, const Op& op, ValueId dy) {
  ValueId tokens = op.operands[0], table = op.operands[1];
  dy = rules.complete(dy, op);
  Op& made = rules.emit(opFor(op, OpKind::EmbeddingBackward, {tokens, dy},
                              {rules.gradientOf(table)}));
  made.group = op.group;
  const ir::Sharding& sharding = rules.shardingOf(dy);
  rules.contribute(table, splitOf(sharding, 0, sharding.dims.size() - 1));
}

/// x [tokens..., from...], w [to..., from...].
void differentiateLinear(Cotangents& rules, const Op& op, ValueId dy) {
  ValueId x = op.operands[0], w = op.operands[1];
  size_t lead = leadOf(rules, op);
  dy = completeForMatmuls(rules, op, dy);
  if (rules.isTrained(w))
    emitWgrad(rules, op, OpKind::LinearWgrad, {rules.read(x), dy},
              splitOf(rules.shardingOf(x), 0, lead));
  if (rules.isActive(x))
    emitDgrad(rules, op, OpKind::LinearDgrad, {dy, w}, lead);
}

/// Both operands have the cotangent of the sum. The bias's gradient sums it
/// over the tokens; if the cotangent is a partial sum, so is the gradient.
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

} // namespace

void differentiateDense(Cotangents& rules, const Op& op, ValueId dy) {
  switch (ops::ForwardDenseOp(op.kind)) {
  case ops::ForwardDenseOp::Embedding:
    return differentiateEmbedding(rules, op, dy);
  case ops::ForwardDenseOp::Linear:
    return differentiateLinear(rules, op, dy);
  case ops::ForwardDenseOp::AdapterLinear:
    assert(false && "adapters of a server are not trained");
    return;
  case ops::ForwardDenseOp::AddBias:
    return differentiateAddBias(rules, op, dy);
  }
}

/// x [groups, places, from...], w [experts, to..., from...].
void differentiateExpertLinear(Cotangents& rules, const Op& op, ValueId dy) {
  ValueId x = op.operands[0], w = op.operands[1];
  ValueId counts = rules.read(op.operands[2]);
  dy = completeForMatmuls(rules, op, dy);
  if (rules.isTrained(w))
    emitWgrad(rules, op, OpKind::ExpertLinearWgrad, {rules.read(x), dy, counts},
              rules.shardingOf(x).dims[1]);
  if (rules.isActive(x))
    emitDgrad(rules, op, OpKind::ExpertLinearDgrad, {dy, w, counts}, 2);
}

} // namespace recipec::passes
