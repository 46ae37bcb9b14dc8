// Sharding of the operands of ops that slice and concatenate.

#include "compiler/passes/shard/Sharder.h"
#include "runtime/ops/MoveOps.h"
#include "runtime/ops/OpKind.h"

namespace recipec::passes {

using ir::AxisSet;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

void Sharder::shardMoves(Op& op) {
  switch (ops::ForwardMoveOp(op.kind)) {
  case ops::ForwardMoveOp::Narrow:
  case ops::ForwardMoveOp::Pad:
    slice(op);
    break;
  case ops::ForwardMoveOp::Concat:
    concat(op);
    break;
  case ops::ForwardMoveOp::Broadcast:
    broadcast(op);
    break;
  }
  out.push_back(std::move(op));
}

/// wide [..., n, ...] and part [..., m, ...], or [..., ...] if m = 1.
void Sharder::slice(Op& op) {
  const bool isPad = op.kind == OpKind::Pad;
  const ValueId wide = isPad ? op.results[0] : op.operands[0];
  const ValueId part = isPad ? op.operands[0] : op.results[0];
  const int64_t behind = ops::NarrowAttributes(op.attributes).behind;
  std::vector<ir::DimId> others = module[wide].dims;
  const bool lacksSlice = module[part].dims.size() < others.size();
  others.erase(others.end() - 1 - behind);
  const std::vector<AxisSet> ofOthers = layoutOf(others, true);
  std::vector<AxisSet> whole = ofOthers;
  whole.insert(whole.end() - behind, AxisSet());
  const std::vector<AxisSet>& taken = lacksSlice ? ofOthers : whole;
  require(op, 0, isPad ? taken : whole);
  set(op.results[0], isPad ? whole : taken);
}

void Sharder::concat(Op& op) {
  std::vector<AxisSet> dims = ofRows(op.results[0]);
  for (size_t i = 0; i < op.operands.size(); ++i)
    require(op, i, dims);
  set(op.results[0], std::move(dims));
}

void Sharder::broadcast(Op& op) {
  std::vector<AxisSet> dims = layoutOf(op.results[0]);
  set(op.results[0], dims);
  dims.erase(dims.end() - 2);
  require(op, 0, std::move(dims));
}

} // namespace recipec::passes
