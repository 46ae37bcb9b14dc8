// The rules of collectives, which are their transposes, and of slice, a
// collective without communication.
//
// Each rank of a group that reads a value computes a part of the value's
// cotangent, so the cotangent is often a partial sum over the group. A partial
// sum over other axes is passed on when that costs no more communication.

#include "compiler/passes/differentiate/Cotangents.h"
#include "runtime/ops/CollectiveOps.h"
#include "runtime/ops/OpKind.h"

namespace recipec::passes {

using ir::AxisSet;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

namespace {

/// The counts of expert rows at the destination of an all-to-all: the
/// counterpart of its counts in a matching all-to-all of `forward`.
ValueId countsBehind(Cotangents& rules, const Op& op) {
  if (op.operands[1] == ValueId::none)
    return ValueId::none;
  for (const Op& other : ir::findFunction(rules.program(), "forward")->ops)
    if (other.kind == OpKind::AllToAll && other.group == op.group) {
      if (other.operands[0] == op.operands[1])
        return rules.read(other.results[0]);
      if (other.results[0] == op.operands[1])
        return rules.read(other.operands[0]);
    }
  return ValueId::none;
}

void differentiateAllReduce(Cotangents& rules, const Op& op, ValueId dy) {
  rules.push(op.operands[0], rules.complete(dy, op), op);
}

/// Every rank reads the whole value, so a partial sum of the cotangents is
/// reduce-scattered. A complete cotangent is sliced instead.
void differentiateAllGather(Cotangents& rules, const Op& op, ValueId dy) {
  ValueId x = op.operands[0];
  bool isSum = (rules.shardingOf(dy).partial & op.group) == op.group;
  if (!isSum)
    dy = rules.complete(dy, op);
  ValueId dx = rules.makeCotangent(x, rules.shardingOf(dy).partial -
                                          (isSum ? op.group : AxisSet()));
  Op& made = rules.emit(
      opFor(op, isSum ? OpKind::ReduceScatter : OpKind::Slice, {dy}, {dx}));
  made.attributes["dim"] = op.attributes.at("dim");
  made.group = op.group;
  rules.push(x, dx, op);
}

/// The rule of reduce_scatter and slice, in which each rank computes a shard of
/// the result.
void differentiateScatter(Cotangents& rules, const Op& op, ValueId dy) {
  ValueId x = op.operands[0];
  dy = rules.complete(dy, op);
  ValueId dx = rules.makeCotangent(x);
  Op& made = rules.emit(opFor(op, OpKind::AllGather, {dy}, {dx}));
  made.attributes["dim"] = op.attributes.at("dim");
  made.group = op.group;
  rules.push(x, dx, op);
}

/// Sends the parts of the cotangent back by an all-to-all.
void differentiateAllToAll(Cotangents& rules, const Op& op, ValueId dy) {
  ValueId x = op.operands[0];
  if (!(rules.shardingOf(dy).partial & op.group).empty())
    dy = rules.complete(dy, op);
  ValueId dx = rules.makeCotangent(x, rules.shardingOf(dy).partial);
  Op& made = rules.emit(
      opFor(op, OpKind::AllToAll, {dy, countsBehind(rules, op)}, {dx}));
  made.group = op.group;
  made.attributes["split"] = op.attributes.at("concat");
  made.attributes["concat"] = op.attributes.at("split");
  rules.push(x, dx, op);
}

} // namespace

void differentiateCollective(Cotangents& rules, const Op& op, ValueId dy) {
  switch (ops::ForwardCollectiveOp(op.kind)) {
  case ops::ForwardCollectiveOp::AllReduce:
    return differentiateAllReduce(rules, op, dy);
  case ops::ForwardCollectiveOp::AllGather:
    return differentiateAllGather(rules, op, dy);
  case ops::ForwardCollectiveOp::ReduceScatter:
  case ops::ForwardCollectiveOp::Slice:
    return differentiateScatter(rules, op, dy);
  case ops::ForwardCollectiveOp::AllToAll:
    return differentiateAllToAll(rules, op, dy);
  }
}

} // namespace recipec::passes
