// Operands of elementwise ops have the sharding of their result.

#include "compiler/passes/shard/Sharder.h"
#include "runtime/ops/ActivationOps.h"

namespace recipec::passes {

using ir::AxisSet;
using ir::Op;
using ir::Sharding;
using ir::ValueId;

void Sharder::shardActivation(Op& op) {
  switch (ops::ForwardActivationOp(op.kind)) {
  case ops::ForwardActivationOp::Silu:
  case ops::ForwardActivationOp::Gelu:
  case ops::ForwardActivationOp::Relu2:
  case ops::ForwardActivationOp::Sigmoid:
  case ops::ForwardActivationOp::Softcap:
  case ops::ForwardActivationOp::Swiglu:
  case ops::ForwardActivationOp::Mul:
  case ops::ForwardActivationOp::Scale:
    elementwise(op, op.operands.size());
    break;
  case ops::ForwardActivationOp::Add:
    add(op);
    break;
  case ops::ForwardActivationOp::Dropout:
    dropout(op);
    break;
  }
  out.push_back(std::move(op));
}

void Sharder::elementwise(Op& op, size_t count) {
  std::vector<AxisSet> dims = layoutOf(op.results[0]);
  for (size_t i = 0; i < count; ++i)
    require(op, i, dims);
  set(op.results[0], std::move(dims));
}

void Sharder::dropout(Op& op) {
  elementwise(op, 1);
  const std::vector<AxisSet>& dims = shardingOf(op.results[0]).dims;
  require(op, 1, {dims[0]});
  require(op, 2, {dims[0], dims[1]});
  std::vector<std::string> list;
  for (AxisSet split : shardingOf(op.results[0]).dims)
    list.push_back(groupName(module, split));
  op.attributes["axes"] = std::move(list);
}

void Sharder::add(Op& op) {
  const std::vector<ValueId>& left = forms[size_t(op.operands[0])];
  const std::vector<ValueId>& right = forms[size_t(op.operands[1])];
  const Sharding& sharding = shardingOf(left.front());
  if (left.size() > 1 || right.size() > 1 || sharding.partial.empty() ||
      sharding != shardingOf(right.front()))
    return elementwise(op, 2);
  module[op.results[0]].sharding = sharding;
}

} // namespace recipec::passes
