// Sharding of the operands of dense layers, embeddings and biases.

#include "compiler/passes/shard/Sharder.h"
#include "runtime/ops/DenseOps.h"

#include <limits>

namespace recipec::passes {

using ir::AxisSet;
using ir::Op;
using ir::Sharding;
using ir::ValueId;

void Sharder::shardDense(Op& op) {
  switch (ops::ForwardDenseOp(op.kind)) {
  case ops::ForwardDenseOp::Embedding:
    embedding(op);
    break;
  case ops::ForwardDenseOp::Linear:
    linear(op, shardingOf(op.operands[1]).dims);
    break;
  case ops::ForwardDenseOp::AdapterLinear:
    adapterLinear(op);
    break;
  case ops::ForwardDenseOp::AddBias:
    addBias(op);
    break;
  }
  out.push_back(std::move(op));
}

void Sharder::embedding(Op& op) {
  const std::vector<AxisSet>& table = shardingOf(op.operands[1]).dims;
  std::vector<AxisSet> dims = shardingOf(op.operands[0]).dims;
  dims.push_back(table[1]);
  op.group = table[0];
  set(op.results[0], std::move(dims), table[0]);
}

/// `weight` is the sharding of the matrix's dimensions. It is a copy because
/// collectives add values to the module, which would move the original.
void Sharder::linear(Op& op, std::vector<AxisSet> weight) {
  ValueId x = op.operands[0];
  size_t xs = module[x].dims.size(), ws = weight.size(),
         ys = module[op.results[0]].dims.size();
  size_t lead = (xs + ys - ws) / 2, to = (ys + ws - xs) / 2;
  Sharding best;
  double bestCost = std::numeric_limits<double>::infinity();
  for (ValueId form : forms[size_t(x)]) {
    Sharding wanted = linearOperand(form, weight, lead, to);
    double price = cost(form, wanted);
    // Among equally cheap forms, the first one is split most. A form that is
    // not a partial sum is better than one that is, because its results need no
    // reduction.
    bool isWholeInstead =
        price == bestCost && wanted.partial.empty() && !best.partial.empty();
    if (price < bestCost || isWholeInstead) {
      bestCost = price;
      best = std::move(wanted);
    }
  }
  op.operands[0] = bring(x, best, op);
  std::vector<AxisSet> result(best.dims.begin(),
                              best.dims.begin() + long(lead));
  result.insert(result.end(), weight.begin(), weight.begin() + long(to));
  AxisSet contracted = splitOf({weight.begin() + long(to), weight.end()});
  set(op.results[0], std::move(result), contracted | best.partial);
}

/// Each rank has its part of each adapter's matrix.
void Sharder::adapterLinear(Op& op) {
  const std::vector<AxisSet> all = shardingOf(op.operands[1]).dims;
  linear(op, {all.begin() + 1, all.end()});
  const std::vector<AxisSet>& x = shardingOf(op.operands[0]).dims;
  const size_t lead = module[op.operands[2]].dims.size();
  require(op, 2, {x.begin(), x.begin() + long(lead)});
}

Sharding Sharder::linearOperand(ValueId form,
                                const std::vector<AxisSet>& weight, size_t lead,
                                size_t to) const {
  Sharding wanted = shardingOf(form);
  AxisSet used = splitOf(weight);
  wanted.partial = wanted.partial - used;
  for (size_t i = 0; i < wanted.dims.size(); ++i)
    wanted.dims[i] = i < lead ? wanted.dims[i] - used : weight[to + i - lead];
  return wanted;
}

void Sharder::addBias(Op& op) {
  std::vector<AxisSet> dims = layoutOf(op.operands[0]);
  size_t width = module[op.operands[1]].dims.size();
  std::vector<AxisSet> last(dims.end() - long(width), dims.end());
  require(op, 0, dims);
  require(op, 1, std::move(last));
  set(op.results[0], std::move(dims));
}

} // namespace recipec::passes
