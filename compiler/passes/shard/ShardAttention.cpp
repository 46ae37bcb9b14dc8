// Sharding of queries, keys and values: heads over tp, the sequence over cp.

#include "compiler/passes/shard/Sharder.h"
#include "runtime/ops/AttentionOps.h"
#include "runtime/ops/OpKind.h"

#include <cassert>

namespace recipec::passes {

using ir::AxisSet;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

void Sharder::shardAttention(Op& op) {
  switch (ops::ForwardAttentionOp(op.kind)) {
  case ops::ForwardAttentionOp::Rope:
  case ops::ForwardAttentionOp::PositionScale:
    byPosition(op);
    break;
  case ops::ForwardAttentionOp::Attention:
    return attention(op);
  case ops::ForwardAttentionOp::RingAttention:
    assert(false && "this pass makes ring attention");
  }
  out.push_back(std::move(op));
}

void Sharder::byPosition(Op& op) {
  std::vector<AxisSet> dims = layoutOf(op.operands[0]);
  require(op, 0, dims);
  require(op, 1, {dims[0], dims[1]});
  set(op.results[0], std::move(dims));
}

void Sharder::attention(Op& op) {
  std::vector<AxisSet> q = layoutOf(module[op.operands[0]].dims, false);
  std::vector<AxisSet> k = layoutOf(module[op.operands[1]].dims, false);
  const SequenceExchange& exchange = layout.exchangeOf(op.layer);
  AxisSet exchanged = q[1] & ir::axesOf(module, exchange.heads);
  AxisSet parts = q[1] - exchanged;
  AxisSet heads = (q[2] & k[2]) | exchanged;
  if (exchange.isRing && !parts.empty()) {
    op.kind = OpKind::RingAttention;
    op.group = parts;
    op.operands.resize(5);
  }
  // `documents` = false lets kernels ignore segments and places. Only a ring
  // without an exchange of heads knows which parts attend to each other;
  // otherwise the tokens of a split row are out of order, and the kernels need
  // them.
  if (!exchanged.empty() ||
      (!parts.empty() && op.kind != OpKind::RingAttention))
    op.attributes.erase("documents");
  if (!exchanged.empty() || !parts.empty())
    op.attributes.erase("most_documents");
  AxisSet keyParts = op.kind == OpKind::RingAttention ? parts : AxisSet();
  require(op, 0, {q[0], parts, heads, {}});
  for (size_t i : {1, 2})
    require(op, i, {q[0], keyParts, heads, {}});
  for (size_t i = 3; i < op.operands.size(); ++i)
    require(op, i, {q[0], i < 5 ? parts : keyParts});
  set(op.results[0], {q[0], parts, heads, {}});
  set(op.results[1], {q[0], heads, parts});
  out.push_back(op);
  if (exchanged.empty())
    return;
  ValueId result = op.results[0];
  forms[size_t(result)] = {convert(
      result, {{q[0], q[1], heads - exchanged, {}}, {}}, {op.layer, op.layer})};
}

} // namespace recipec::passes
