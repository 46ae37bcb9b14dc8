// Sharding of the operands of ops that cut and concatenate rows.

#include "compiler/passes/shard/Sharder.h"
#include "runtime/ops/MoveOps.h"

namespace recipec::passes {

using ir::AxisSet;
using ir::Op;

void Sharder::shardMoves(Op& op) {
  switch (ops::ForwardMoveOp(op.kind)) {
  case ops::ForwardMoveOp::Narrow:
  case ops::ForwardMoveOp::Pad:
  case ops::ForwardMoveOp::Concat:
    partsOfRows(op);
    break;
  case ops::ForwardMoveOp::Broadcast:
    broadcast(op);
    break;
  }
  out.push_back(std::move(op));
}

void Sharder::partsOfRows(Op& op) {
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
