// Sharding of state spaces: by groups, whose heads share B and C.

#include "compiler/passes/shard/Sharder.h"
#include "runtime/ops/StateSpaceOps.h"

namespace recipec::passes {

using ir::AxisSet;
using ir::Op;
using ir::ValueId;

void Sharder::shardStateSpace(Op& op) {
  switch (ops::ForwardStateSpaceOp(op.kind)) {
  case ops::ForwardStateSpaceOp::CausalConv:
    causalConv(op);
    break;
  case ops::ForwardStateSpaceOp::StateScan:
    stateScan(op);
    break;
  }
  out.push_back(std::move(op));
}

std::vector<AxisSet> Sharder::ofSequences(ValueId x) const {
  std::vector<AxisSet> dims = layoutOf(module[x].dims, false);
  return {dims[0], {}, dims[2], {}};
}

void Sharder::causalConv(Op& op) {
  std::vector<AxisSet> dims = ofSequences(op.operands[0]);
  require(op, 0, dims);
  require(op, 1, {dims[2], {}, {}});
  require(op, 2, {dims[0], {}});
  set(op.results[0], std::move(dims));
}

void Sharder::stateScan(Op& op) {
  std::vector<AxisSet> dims = ofSequences(op.operands[0]);
  for (size_t i = 0; i < 4; ++i)
    require(op, i, dims);
  for (size_t i = 4; i < 7; ++i)
    require(op, i, {dims[2], {}});
  require(op, 7, {dims[0], {}});
  set(op.results[1], {dims[0], dims[2], {}, {}, {}});
  set(op.results[0], std::move(dims));
}

} // namespace recipec::passes
